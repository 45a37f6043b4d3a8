-- What came of asking a model: pieces by outcome, failures by reason, calls, units a turn, repeats, grounding, tokens.
-- grain: a representation of a corpus
-- reads: extractions, units, turns
-- param: representation: optional, one of those that a model makes; all by default
-- no rows: this snapshot holds nothing that a model made; memlake represent artifacts --model NAME makes some
with chosen as (
    select
        extractions.corpus,
        extractions.representation,
        extractions.conversation_id,
        extractions.outcome,
        extractions.reason,
        extractions.units,
        extractions.calls,
        extractions.splits,
        extractions.repairs,
        extractions.duplicates,
        extractions.dropped,
        extractions.exact,
        extractions.normalised,
        extractions.fuzzy,
        extractions.ungrounded,
        extractions.tokens_in,
        extractions.tokens_out,
        extractions.source_chars,
        extractions.stored_chars
    from extractions
    where extractions.representation = coalesce(cast($representation as varchar), extractions.representation)
),

counted as (
    select
        chosen.corpus,
        chosen.representation,
        count(*) as pieces,
        count(*) filter (where chosen.outcome = 'extracted') as extracted,
        count(*) filter (where chosen.outcome = 'empty') as empty,
        count(*) filter (where chosen.outcome = 'failed') as failed,
        cast(sum(chosen.calls) as bigint) as calls,
        cast(sum(chosen.splits) as bigint) as splits,
        cast(sum(chosen.repairs) as bigint) as repairs,
        cast(sum(chosen.units) as bigint) as units,
        cast(sum(chosen.dropped) as bigint) as dropped,
        cast(sum(chosen.duplicates) as bigint) as repeats_in_pieces,
        sum(chosen.exact + chosen.normalised + chosen.fuzzy + chosen.ungrounded) as quoted,
        sum(chosen.exact) as exact,
        sum(chosen.normalised) as normalised,
        sum(chosen.fuzzy) as fuzzy,
        sum(chosen.ungrounded) as ungrounded,
        cast(sum(chosen.tokens_in) as bigint) as tokens_in,
        cast(sum(chosen.tokens_out) as bigint) as tokens_out,
        sum(chosen.source_chars) as source_chars,
        sum(chosen.stored_chars) as stored_chars
    from chosen
    group by chosen.corpus, chosen.representation
),

failures as (
    select
        chosen.corpus,
        chosen.representation,
        chosen.reason,
        count(*) as pieces
    from chosen
    where chosen.outcome = 'failed'
    group by chosen.corpus, chosen.representation, chosen.reason
),

by_reason as (
    select
        failures.corpus,
        failures.representation,
        map(
            list(failures.reason order by failures.reason), list(failures.pieces order by failures.reason)
        ) as failed_by_reason
    from failures
    group by failures.corpus, failures.representation
),

asked_about as (
    select distinct
        chosen.corpus,
        chosen.representation,
        chosen.conversation_id
    from chosen
),

spoken as (
    select
        asked_about.corpus,
        asked_about.representation,
        count(*) as turns
    from asked_about
    inner join turns on asked_about.corpus = turns.corpus and asked_about.conversation_id = turns.conversation_id
    group by asked_about.corpus, asked_about.representation
),

said_again as (
    select
        units.corpus,
        units.representation,
        count(*) - 1 as repeats
    from units
    semi join asked_about
        on
            units.corpus = asked_about.corpus
            and units.representation = asked_about.representation
            and units.conversation_id = asked_about.conversation_id
    group by
        units.corpus,
        units.representation,
        units.conversation_id,
        units.kind,
        lower(substr(units.show_text, units.header_chars + 1))
),

repeated as (
    select
        said_again.corpus,
        said_again.representation,
        cast(sum(said_again.repeats) as bigint) as repeats
    from said_again
    group by said_again.corpus, said_again.representation
)

select
    counted.corpus,
    counted.representation,
    counted.pieces,
    counted.extracted,
    counted.empty,
    counted.failed,
    by_reason.failed_by_reason,
    counted.calls,
    counted.splits,
    counted.repairs,
    counted.units,
    round(counted.units / nullif(spoken.turns, 0), 3) as units_per_turn,
    counted.repeats_in_pieces,
    coalesce(repeated.repeats, 0) as repeats_across_pieces,
    counted.dropped,
    round(counted.exact / nullif(counted.quoted, 0), 3) as exact_share,
    round(counted.normalised / nullif(counted.quoted, 0), 3) as normalised_share,
    round(counted.fuzzy / nullif(counted.quoted, 0), 3) as fuzzy_share,
    round(counted.ungrounded / nullif(counted.quoted, 0), 3) as ungrounded_share,
    round(counted.stored_chars / nullif(counted.source_chars, 0), 3) as stored_per_source,
    counted.tokens_in,
    counted.tokens_out
from counted
left join by_reason
    on counted.corpus = by_reason.corpus and counted.representation = by_reason.representation
left join spoken on counted.corpus = spoken.corpus and counted.representation = spoken.representation
left join repeated on counted.corpus = repeated.corpus and counted.representation = repeated.representation
order by counted.corpus, counted.representation;
