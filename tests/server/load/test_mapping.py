"""The options --map, --set and --where as they are typed."""

import pytest

from adanalytics_server.loading.mapping import Mapping, MappingError


@pytest.mark.parametrize(
    ("columns", "constants", "where", "message"),
    [
        (["event_time"], [], [], "--map 'event_time' is not in the form NAME=VALUE"),
        ([], ["=1"], [], "--set '=1' is not in the form NAME=VALUE"),
        ([], [], ["click"], "--where 'click' is not in the form NAME=VALUE"),
        (["event_tme=t"], [], [], "--map: unknown field 'event_tme'; known fields: "),
        ([], ["price=1"], [], "key_values, campaign_name, demand_tag_name"),
        (["os=a", "os=b"], [], [], "--map: the field 'os' is already given"),
        (["os=a"], ["os=b"], [], "--set: the field 'os' is already given"),
        ([], ["os=a", "os=b"], [], "--set: the field 'os' is already given"),
        ([], ["revenue=1,5"], [], "--set revenue: '1,5' is not a decimal number"),
        ([], ["event_type=view"], [], "--set event_type: 'view' is not one of ad_request,"),
    ],
)
def test_an_option_that_cannot_be_meant(
    columns: list[str], constants: list[str], where: list[str], message: str
) -> None:
    with pytest.raises(MappingError) as caught:
        Mapping.parse(columns=columns, constants=constants, where=where)
    assert message in str(caught.value)


def test_values_and_columns_may_hold_equals_signs() -> None:
    mapping = Mapping.parse(
        columns=["os=a=b"], constants=['key_values={"x":"1=1"}', "country="], where=["c=d=e"]
    )
    assert mapping.columns == {"os": "a=b"}
    assert mapping.constants == {"key_values": {"x": "1=1"}, "country": None}
    assert mapping.where == (("c", "d=e"),)


@pytest.mark.parametrize(
    ("row", "taken"),
    [
        ({"click": "1", "site": "a"}, True),
        ({"click": 1, "site": "a"}, True),
        ({"click": "1", "site": "b"}, False),
        ({"click": "1.0", "site": "a"}, False),
        ({"click": True, "site": "a"}, False),
        ({"click": None, "site": "a"}, False),
        ({"click": "1"}, False),
    ],
)
def test_all_conditions_must_hold_on_the_raw_text(row: dict[str, object], taken: bool) -> None:
    assert Mapping.parse(where=["click=1", "site=a"]).takes(row) is taken


def test_an_empty_condition_takes_what_is_null_or_absent() -> None:
    mapping = Mapping.parse(where=["site="])
    assert [mapping.takes(row) for row in ({"site": ""}, {"site": None}, {}, {"site": "a"})] == [
        True,
        True,
        True,
        False,
    ]


def test_one_column_can_feed_two_fields_and_a_renamed_field_leaves_its_own_column() -> None:
    fields = Mapping.parse(columns=["creative_id=ad", "deal_id=ad"]).fields_by_column()
    assert [field for field, _ in fields["ad"]] == ["creative_id", "deal_id"]
    assert "deal_id" not in fields
