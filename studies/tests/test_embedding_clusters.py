import numpy as np
import pytest

from studies.trials.embedding_clusters import CLUSTERS, MAP, ON_MAP, PLACES, SCRIPTS, Clusters

N = 600  # tokens of a group


@pytest.fixture(scope="module")
def clusters():
    "Four groups that differ by 2 in two dimensions, among six with more variance."
    rng = np.random.default_rng(0)
    scripts, places = np.repeat(SCRIPTS, 2 * N), np.tile(np.repeat(PLACES, N), 2)
    apart = np.stack([2.0 * (places == PLACES[0]), 2.0 * (scripts == SCRIPTS[0])], axis=1)
    embeddings = np.hstack([apart + rng.normal(0, 0.3, (4 * N, 2)), rng.normal(0, 1.5, (4 * N, 6))])
    return Clusters(embeddings.astype(np.float32), scripts, places)


def test_groups_are_found_in_all_dimensions_not_in_a_plane(clusters):
    rows = {row["groups"]: row for row in clusters.rows()}
    assert {name: row["n"] for name, row in rows.items()} == {"script": 2, "position": 2, "script and position": 4}
    for row in rows.values():
        assert row["all_dimensions"] > 0.9 and row["plane"] < 1 / row["n"] + 0.15


def test_shuffled_groups_are_chance(clusters):
    order = np.random.default_rng(1).permutation(len(clusters.places))
    rows = Clusters(clusters.embeddings, clusters.scripts[order], clusters.places[order]).rows()
    assert all(row["all_dimensions"] == pytest.approx(1 / row["n"], abs=0.08) for row in rows)


def test_the_axes_of_a_map_point_from_group_to_group(clusters):
    drawn = clusters.map()
    assert drawn.groupby(["script", "position"]).size().tolist() == [ON_MAP] * 4
    means = drawn.groupby(["script", "position"])[["x", "y"]].mean()
    latin, cyrillic = (means.loc[script] for script in SCRIPTS)
    for script in (latin, cyrillic):
        assert script.x[PLACES[0]] - script.x[PLACES[1]] == pytest.approx(2, abs=0.5)
    assert (latin.y - cyrillic.y).mean() == pytest.approx(2, abs=0.5)
    spread = drawn.groupby("position")[["first", "second"]].mean()
    assert abs(spread.loc[PLACES[0]] - spread.loc[PLACES[1]]).max() < 0.9  # of a standard deviation of 1.5


def test_the_recorded_map_shows_what_its_caption_says():
    drawn = MAP.frame().query("model == 'multilingual-e5-small'")
    assert drawn.groupby(["script", "position"]).size().tolist() == [60] * 4

    def right(columns):  # the share of tokens nearest to the mean of their own group
        points, groups = drawn[columns].to_numpy(), (drawn.script + drawn.position).to_numpy()
        means = {group: points[groups == group].mean(0) for group in set(groups)}
        nearest = [min(means, key=lambda group: np.linalg.norm(point - means[group])) for point in points]
        return (np.array(nearest) == groups).mean()

    assert right(["x", "y"]) > 0.85 and right(["first", "second"]) < 0.6
    recorded = CLUSTERS.frame()
    assert (recorded.all_dimensions > recorded.plane).all() and (recorded.tokens <= 50_000).all()
