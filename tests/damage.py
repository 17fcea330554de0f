"""Damages files of a folder, as disks, people and programs do."""

import os


def damaged(folder, rng):
    """Damage one file of a folder in one of many ways; return which."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path, other = rng.choice(files), rng.choice(files)
    content, theirs = path.read_bytes(), other.read_bytes()
    place = rng.randrange(len(content) + 1)
    how = rng.choice(["bit", "cut", "longer", "empty", "gone", "swapped", "zeros", "folder", "noise", "loop"])
    if how in ("gone", "folder", "loop"):
        path.unlink()
        if how == "folder":
            path.mkdir()
        elif how == "loop":
            path.symlink_to(path.name)
    elif how == "swapped":
        path.write_bytes(theirs)
        other.write_bytes(content)
    else:
        bit = bytes([content[place - 1] ^ 1 << rng.randrange(8)]) if content else b""
        path.write_bytes(
            {
                "bit": content[: max(place - 1, 0)] + bit + content[max(place, 1) :],
                "cut": content[:place],
                "longer": content + b"more",
                "empty": b"",
                "zeros": bytes(len(content)),
                "noise": rng.randbytes(len(content)),
            }[how]
        )
    return f"{how} {os.path.relpath(path, folder)}"
