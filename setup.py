"""Build metadata: everything comes from settings.ini; edit there."""

import sys
from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
DATA = (  # what the commands of an installed package read; studies, benchmarks and the book read more, in a checkout
    "languages.yml",
    "languages.csv",
    "pre_tokenizers.yml",
    "papers.csv",
    "models/mini-*/*",
    "report/*",
    "text/*",
    "tokenizers/*",
    "field/sources.csv",
)


def read_settings() -> dict[str, str]:
    "The entries of settings.ini."
    ini = ConfigParser(delimiters=["="])
    ini.read(HERE / "settings.ini", encoding="utf-8")
    return dict(ini["DEFAULT"])


def extras(cfg: dict[str, str]) -> dict[str, list[str]]:
    "The packages of each extra; `all` is what a user may need, `dev` all that the checks of a change need."
    named = {name: cfg[f"{name}_requirements"].split() for name in cfg["extras"].split()}
    everything = {package for name, packages in named.items() if name != "book" for package in packages}
    # test: beside other versions, which the packages that build the book and check the code do not allow
    test = sorted(everything) + cfg["test_requirements"].split()
    dev = [*test, *named["book"], *cfg["dev_requirements"].split()]
    return named | {"all": sorted(everything), "test": test, "dev": dev}


cfg = read_settings()
library = cfg["lib_name"]
# a checkout also finds what its chapters run; a wheel has the library alone
beside = ["testkit", "studies", "benchmarks", "tools"] if "editable_wheel" in sys.argv else []

setup(
    name=library,
    version=cfg["version"],
    description=cfg["description"],
    keywords=cfg["keywords"].split(),
    author=cfg["author"],
    author_email=cfg["author_email"],
    license="Apache-2.0",
    license_files=["LICENSE"],
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    url=cfg["git_url"],
    project_urls={"Documentation": cfg["doc_host"] + cfg["doc_baseurl"]},
    packages=[*find_packages(include=[library, f"{library}.*"]), f"{library}.data", *beside],
    package_dir={f"{library}.data": "data"},
    package_data={library: ["py.typed"], f"{library}.data": list(DATA)},
    include_package_data=False,
    install_requires=cfg["requirements"].split(),
    extras_require=extras(cfg),
    entry_points={"console_scripts": [cfg["console_scripts"]]},
)
