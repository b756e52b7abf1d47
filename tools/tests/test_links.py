import pytest

from tools.links import check_html


@pytest.fixture
def site(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.html").write_text(
        '<h1 id="one"></h1><a href="sub/b.html#two">b</a> <a href="#one">up</a><a href="#"></a>'
        '<a href="sub/b.html?q=1">q</a><img src="data:image/png;base64,x" alt="dot">'
    )
    (tmp_path / "sub" / "b.html").write_text(
        '<a name="two" href="../a.html">a</a> <a href="https://example.org/x">x</a> <a href="f%20x.csv">f</a>'
    )
    (tmp_path / "sub" / "f x.csv").write_text("1")
    return tmp_path.resolve()


def test_addresses_outside_are_listed_and_those_of_the_repository_are_files(site):
    assert check_html(site) == ([], ["https://example.org/x"]) == check_html(site, {"https://example.org/y": site})
    assert check_html(site, {"https://example.org/": site})[0] == [
        "sub/b.html: https://example.org/x is no file of the repository"
    ]
    (site / "x").write_text("")
    assert check_html(site, {"https://example.org/": site})[0] == []


def test_dead_links_dead_sections_undescribed_images_and_what_comes_from_the_network_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="gone.html"></a><a href="#none"></a><a href="b.html#none"></a><a href="htp:/x"></a>'
        '<a href="https://no host/"></a><script src="https://cdn.example.org/x.js"></script><img src="b.html">'
        '<img src="b.html?1" alt="b.html?1"><link rel="stylesheet" href="//fonts.example.org/f.css">'
    )
    (tmp_path / "b.html").write_text("")
    assert check_html(tmp_path.resolve())[0] == [
        "a.html: the image b.html has no description",
        "a.html: the image b.html?1 has no description",
        "a.html: #none has no such section",
        "a.html: //fonts.example.org/f.css is no address",
        "a.html: b.html#none has no such section",
        "a.html: the link gone.html leads nowhere",
        "a.html: htp:/x is no address",
        "a.html: loads https://cdn.example.org/x.js from the network",
        "a.html: https://no host/ is no address",
    ]
