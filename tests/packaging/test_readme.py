"""The README's commands are the doors that CI uses."""

from __future__ import annotations

import re

from tests.helpers.repository import ROOT, require_checkout


def test_readme_commands_are_nox_sessions() -> None:
    require_checkout()
    blocks = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    commands = blocks[0].strip().splitlines()
    setup = "python3 -m venv .venv && .venv/bin/pip install -q nox uv && .venv/bin/nox"
    assert commands == [f"{setup} -s demo", setup]


def test_default_session_is_what_ci_runs() -> None:
    require_checkout()
    noxfile = (ROOT / "noxfile.py").read_text()
    assert 'nox.options.sessions = ["local"]' in noxfile
    ci = (ROOT / ".ci" / "run").read_text()
    assert re.search(r"^\.venv/bin/nox ", ci, re.MULTILINE)
    for session in (
        "lint",
        "codegen",
        "rust",
        "wheels",
        "tests",
        "tests-isolated",
        "typecheck",
        "docs",
    ):
        assert f'"{session}"' in noxfile.split("LOCAL_SESSIONS = (")[1].split(")")[0]
