-- Every vector row has its unit, and no unit has two; every conversation has as many as its part says.
-- grain: a vector's unit, or a conversation of a vector table, that breaks it; no row means pass
-- reads: audited, vectors, units, parts, part_names
-- By a hash of the unit id: this audit looks at all conversations at once, and hashes are a fifth of the ids.
with rows_of_audited as (
    select
        vectors.vector_table,
        vectors.representation,
        vectors.corpus,
        vectors.conversation_id,
        hash(vectors.unit_id) as unit_hash
    from vectors
    semi join audited on vectors.corpus = audited.corpus and vectors.conversation_id = audited.conversation_id
),

twice as (
    select
        rows_of_audited.corpus,
        any_value(rows_of_audited.conversation_id) as conversation_id,
        rows_of_audited.vector_table as subject,
        'a unit has ' || count(*) || ' vectors' as problem
    from rows_of_audited
    group by rows_of_audited.corpus, rows_of_audited.vector_table, rows_of_audited.unit_hash
    having count(*) > 1
),

known_units as (
    select
        units.corpus,
        units.representation,
        hash(units.unit_id) as unit_hash
    from units
    semi join audited on units.corpus = audited.corpus and units.conversation_id = audited.conversation_id
),

without_unit as (
    select
        rows_of_audited.corpus,
        rows_of_audited.conversation_id,
        rows_of_audited.vector_table as subject,
        'a vector has no unit' as problem
    from rows_of_audited
    anti join known_units
        on
            rows_of_audited.corpus = known_units.corpus
            and rows_of_audited.representation = known_units.representation
            and rows_of_audited.unit_hash = known_units.unit_hash
),

counted as (
    select
        rows_of_audited.corpus,
        rows_of_audited.conversation_id,
        rows_of_audited.vector_table,
        count(*) as found
    from rows_of_audited
    group by rows_of_audited.corpus, rows_of_audited.conversation_id, rows_of_audited.vector_table
),

promised as (
    select
        parts.corpus,
        parts.conversation_id,
        part_names.vector_table,
        parts.rows as expected
    from parts
    semi join audited on parts.corpus = audited.corpus and parts.conversation_id = audited.conversation_id
    inner join part_names on parts.part = part_names.part and part_names.kind = 'vectors'
),

miscounted as (
    select
        coalesce(promised.corpus, counted.corpus) as corpus,
        coalesce(promised.conversation_id, counted.conversation_id) as conversation_id,
        coalesce(promised.vector_table, counted.vector_table) as subject,
        coalesce(counted.found, 0) || ' vectors where ' || coalesce(promised.expected, 0) || ' were staged' as problem
    from promised
    full join counted
        on
            promised.corpus = counted.corpus
            and promised.conversation_id = counted.conversation_id
            and promised.vector_table = counted.vector_table
    where coalesce(counted.found, 0) <> coalesce(promised.expected, 0)
)

select
    twice.corpus,
    twice.conversation_id,
    twice.subject,
    twice.problem
from twice
union all
select
    without_unit.corpus,
    without_unit.conversation_id,
    without_unit.subject,
    without_unit.problem
from without_unit
union all
select
    miscounted.corpus,
    miscounted.conversation_id,
    miscounted.subject,
    miscounted.problem
from miscounted;
