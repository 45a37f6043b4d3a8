-- Every link joins two different units of one conversation and representation, once; as many as its part says.
-- grain: a link, or a relation of a conversation, that breaks it; no row means pass
-- reads: audited, links, units, parts, part_names
with rows_of_audited as (
    select
        links.corpus,
        links.conversation_id,
        links.representation,
        links.relation,
        links.source_unit,
        links.target_unit,
        links.weight
    from links
    semi join audited on links.corpus = audited.corpus and links.conversation_id = audited.conversation_id
),

known_units as (
    select
        units.corpus,
        units.conversation_id,
        units.representation,
        units.unit_id
    from units
    semi join audited on units.corpus = audited.corpus and units.conversation_id = audited.conversation_id
),

ends as (
    select
        rows_of_audited.corpus,
        rows_of_audited.conversation_id,
        rows_of_audited.representation,
        unnest([rows_of_audited.source_unit, rows_of_audited.target_unit]) as unit_id
    from rows_of_audited
),

dangling as (
    select distinct
        ends.corpus,
        ends.conversation_id,
        ends.unit_id as subject,
        'a link has no such unit' as problem
    from ends
    anti join known_units
        on
            ends.corpus = known_units.corpus
            and ends.conversation_id = known_units.conversation_id
            and ends.representation = known_units.representation
            and ends.unit_id = known_units.unit_id
),

odd as (
    select
        rows_of_audited.corpus,
        rows_of_audited.conversation_id,
        rows_of_audited.source_unit as subject,
        case
            when rows_of_audited.source_unit = rows_of_audited.target_unit then 'a unit is linked to itself'
            else 'a link has no weight'
        end as problem
    from rows_of_audited
    where
        rows_of_audited.source_unit = rows_of_audited.target_unit
        or rows_of_audited.weight is null
        or isnan(rows_of_audited.weight)
),

twice as (
    select
        rows_of_audited.corpus,
        any_value(rows_of_audited.conversation_id) as conversation_id,
        rows_of_audited.source_unit as subject,
        'a link stands ' || count(*) || ' times' as problem
    from rows_of_audited
    group by
        rows_of_audited.corpus,
        rows_of_audited.representation,
        rows_of_audited.source_unit,
        rows_of_audited.target_unit,
        rows_of_audited.relation
    having count(*) > 1
),

counted as (
    select
        rows_of_audited.corpus,
        rows_of_audited.conversation_id,
        rows_of_audited.representation,
        rows_of_audited.relation,
        count(*) as found
    from rows_of_audited
    group by
        rows_of_audited.corpus,
        rows_of_audited.conversation_id,
        rows_of_audited.representation,
        rows_of_audited.relation
),

-- A representation may bring links of its own, which belong to its units' part.
miscounted as (
    select
        parts.corpus,
        parts.conversation_id,
        parts.part as subject,
        coalesce(counted.found, 0) || ' links where ' || parts.rows || ' were staged' as problem
    from parts
    semi join audited on parts.corpus = audited.corpus and parts.conversation_id = audited.conversation_id
    inner join part_names on parts.part = part_names.part and part_names.kind = 'links'
    left join counted
        on
            parts.corpus = counted.corpus
            and parts.conversation_id = counted.conversation_id
            and part_names.representation = counted.representation
            and part_names.relation = counted.relation
    where coalesce(counted.found, 0) <> parts.rows
)

select
    dangling.corpus,
    dangling.conversation_id,
    dangling.subject,
    dangling.problem
from dangling
union all
select
    odd.corpus,
    odd.conversation_id,
    odd.subject,
    odd.problem
from odd
union all
select
    twice.corpus,
    twice.conversation_id,
    twice.subject,
    twice.problem
from twice
union all
select
    miscounted.corpus,
    miscounted.conversation_id,
    miscounted.subject,
    miscounted.problem
from miscounted;
