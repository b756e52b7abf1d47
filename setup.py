"""Build metadata: everything comes from settings.ini; edit there."""

import sys
from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages, setup

here = Path(__file__).parent
ini = ConfigParser(delimiters=["="])
ini.read(here / "settings.ini", encoding="utf-8")
cfg = ini["DEFAULT"]
lib = cfg["lib_name"]
readme = here / "README.md"
extras = {name: cfg[f"{name}_requirements"].split() for name in cfg["extras"].split()}
extras["all"] = sorted({requirement for required in extras.values() for requirement in required})
extras["dev"] = extras["all"] + cfg["dev_requirements"].split()
# for the tests beside other versions, which the tools that build the book do not allow
extras["test"] = sorted(set(extras["all"]) - set(cfg["book_requirements"].split())) + cfg["dev_requirements"].split()
# a checkout also finds what its chapters run; a wheel has the library alone
beside = ["studies", "benchmarks", "tools"] if "editable_wheel" in sys.argv else []
left_out = here / "data/models/field-xlmr"  # large, and no command needs it
files = [p for p in (here / "data").rglob("*") if p.is_file() and left_out not in p.parents]
data = [p.relative_to(here / "data").as_posix() for p in files]

setup(
    name=lib,
    version=cfg["version"],
    description=cfg["description"],
    keywords=cfg["keywords"].split(),
    author=cfg["author"],
    author_email=cfg["author_email"],
    license="Apache-2.0",
    long_description=readme.read_text(encoding="utf-8") if readme.exists() else cfg["description"],
    long_description_content_type="text/markdown",
    url=cfg["git_url"],
    project_urls={"Documentation": cfg["doc_host"] + cfg["doc_baseurl"]},
    packages=[*find_packages(include=[lib, f"{lib}.*"]), f"{lib}.data", *beside],
    package_dir={f"{lib}.data": "data"},
    package_data={lib: ["py.typed"], f"{lib}.data": data},
    python_requires=f">={cfg['min_python']},<{cfg['below_python']}",
    install_requires=cfg["requirements"].split(),
    extras_require=extras,
    entry_points={"console_scripts": [cfg["console_scripts"]]},
)
