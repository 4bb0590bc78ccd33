"""What the scripts that make seeds share."""

import pathlib

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "corpus"
# Larger ones are mutated more slowly, and seldom show more.
LARGEST = 8 << 10


def write(target: str, name: str, content: bytes | str) -> None:
    """Writes one seed of a target."""
    if isinstance(content, str):
        content = content.encode()
    if len(content) > LARGEST:
        raise ValueError(f"{target}/{name} has {len(content)} bytes")
    directory = CORPUS / target
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_bytes(content)
