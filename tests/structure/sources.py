"""The files of the project: what git tracks or would track, or all files where there is no git."""

import os
import subprocess


def trackedFiles(root):
    """Paths below `root`, sorted, that exist and that git does not ignore."""
    command = ["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"]
    listing = subprocess.run(command, capture_output=True, text=True, check=False)
    if listing.returncode == 0:
        names = set(listing.stdout.split("\0")) - {""}
    else:
        names = {os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, files in os.walk(root) for name in files}
    return sorted(name for name in names if os.path.isfile(os.path.join(root, name)))
