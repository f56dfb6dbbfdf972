"""Nodes, each with network, IPC and mount namespaces of its own, and links between them; needs root
and iproute2."""

import os
import shutil
import subprocess
import time

CARRIER_SECONDS = 5  # the kernel tells of a carrier up to a second after the link is up


def whyNot():
    """Why namespaces cannot be made here, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip"):
        return "network namespaces need the program ip (Debian package iproute2)"
    probe = f"gr{os.getpid()}p"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
    if made.returncode != 0:
        return f"no network namespaces: {made.stderr.strip()}"
    ip("netns", "del", probe)
    return None


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class Node:
    """What processes of one machine share. A process that only sleeps keeps the namespaces; `ip
    netns exec` gives it a sysfs of its own, which UCX reads, and it mounts its own /dev/shm.

    With `sharesMemory` the nodes share IPC and /dev/shm, as containers of one host may."""

    def __init__(self, name, sharesMemory=False):
        self.name = name
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
        own = [] if sharesMemory else ["--ipc"]
        mount = "" if sharesMemory else "mount -t tmpfs tmpfs /dev/shm && "
        self.keeper = subprocess.Popen(
            ["ip", "netns", "exec", name, "unshare", "--mount", *own, "sh", "-c",
             f"{mount}echo && exec sleep infinity"], stdout=subprocess.PIPE)
        if not self.keeper.stdout.readline():
            raise RuntimeError(f"the namespaces of {name} cannot be made")
        self.inside = ("nsenter", "--target", str(self.keeper.pid), "--net", "--ipc", "--mount",
                       "sh", "-c", 'cd "$0" && exec "$@"', os.getcwd())

    def run(self, *command):
        """What a command prints that runs in the node."""
        return subprocess.run([*self.inside, *command], check=True, capture_output=True,
                              text=True).stdout

    def sentBytes(self, interface):
        return int(self.run("cat", f"/sys/class/net/{interface}/statistics/tx_bytes"))

    def remove(self):
        self.keeper.kill()
        self.keeper.wait()
        self.keeper.stdout.close()
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)


def join(left, right, interface, leftAddress, rightAddress):
    """A veth pair with one name at both ends."""
    ip("-n", left.name, "link", "add", interface, "type", "veth", "peer", "name", interface,
       "netns", right.name)
    for node, address in ((left, leftAddress), (right, rightAddress)):
        ip("-n", node.name, "addr", "add", f"{address}/24", "dev", interface)
        ip("-n", node.name, "link", "set", interface, "up")
    end = time.monotonic() + CARRIER_SECONDS
    for node in (left, right):
        while node.run("cat", f"/sys/class/net/{interface}/operstate") != "up\n":
            if time.monotonic() > end:
                raise TimeoutError(f"{interface} of {node.name} is not up after {CARRIER_SECONDS} s")
            time.sleep(0.02)


class Nodes:
    """Nodes that are removed together."""

    def __init__(self, names, **options):
        self.nodes = []
        try:
            for name in names:
                self.nodes.append(Node(f"gr{os.getpid()}{name}", **options))
            self.link()
        except BaseException:
            self.remove()
            raise

    def remove(self):
        for node in self.nodes:
            node.remove()


class Pair(Nodes):
    """Two nodes with a link; with `sharesMemory` they share IPC, but not the network."""

    ADDRESSES = "10.77.0.1", "10.77.0.2"

    def __init__(self, **options):
        super().__init__("ab", **options)

    def link(self):
        join(*self.nodes, "veth0", *self.ADDRESSES)

    def slow(self, rate):
        """What the left one sends takes its time: "80mbit"."""
        self.nodes[0].run("tc", "qdisc", "add", "dev", "veth0", "root", "tbf", "rate", rate, "burst", "64kb",
                          "latency", "50ms")

    def cut(self):
        """From now on no packet passes and nobody is told."""
        ip("-n", self.nodes[1].name, "link", "set", "veth0", "down")


class Star(Nodes):
    """A node in the middle that forwards between two others."""

    MIDDLE, ADDRESSES = ("10.77.1.1", "10.77.2.1"), ("10.77.1.2", "10.77.2.2")

    def __init__(self):
        super().__init__("mab")

    def link(self):
        self.middle, *outer = self.nodes
        for i, node in enumerate(outer):
            join(self.middle, node, f"veth{i}", self.MIDDLE[i], self.ADDRESSES[i])
            ip("-n", node.name, "route", "add", "default", "via", self.MIDDLE[i])
        self.forward(True)

    def forward(self, wanted):
        """Whether the outer nodes reach each other; they reach the middle one at all times."""
        self.middle.run("sh", "-c", f"echo {int(wanted)} > /proc/sys/net/ipv4/ip_forward")
