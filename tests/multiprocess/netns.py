"""Two network namespaces joined by a veth pair; needs root and iproute2."""

import os
import shutil
import subprocess


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


class Pair:
    """Namespaces `left` and `right`; `ip netns exec` mounts a sysfs of its own, which UCX reads."""

    LEFT_ADDRESS, RIGHT_ADDRESS = "10.77.0.1", "10.77.0.2"

    def __init__(self):
        stem = f"gr{os.getpid()}"
        self.left, self.right = f"{stem}l", f"{stem}r"
        try:
            for name in (self.left, self.right):
                ip("netns", "add", name)
                ip("-n", name, "link", "set", "lo", "up")
            ip("-n", self.left, "link", "add", "veth0", "type", "veth", "peer", "name", "veth0",
               "netns", self.right)
            for name, address in ((self.left, self.LEFT_ADDRESS),
                                  (self.right, self.RIGHT_ADDRESS)):
                ip("-n", name, "addr", "add", f"{address}/24", "dev", "veth0")
                ip("-n", name, "link", "set", "veth0", "up")
        except subprocess.CalledProcessError:
            self.remove()
            raise

    def slow(self, rate):
        """What the left one sends takes its time: "80mbit"."""
        ip("netns", "exec", self.left, "tc", "qdisc", "add", "dev", "veth0", "root", "tbf", "rate", rate, "burst", "64kb",
           "latency", "50ms")

    def cut(self):
        """From now on no packet passes and nobody is told."""
        ip("-n", self.right, "link", "set", "veth0", "down")

    def remove(self):
        for name in (self.left, self.right):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)

    @staticmethod
    def inside(name):
        """The prefix of a command that runs in a namespace."""
        return ("ip", "netns", "exec", name)
