-- What a commit lands, removes and drops, decided part by part.
-- grain: landed, removed and dropped have one row a part of a conversation
-- reads: seen, base, losers, forgotten, sources

-- Of equal versions the first manifest's counts; the others' rows must not land beside it.
create temp table candidates as
select
    seen.manifest,
    seen.conversation_id,
    seen.part,
    seen.content_hash,
    seen.rows,
    seen.staged,
    losers.reason as lost_because,
    base.content_hash as base_hash,
    forgotten.conversation_id is not null as is_forgotten,
    row_number() over (
        partition by seen.conversation_id, seen.part
        order by losers.reason is not null, not seen.staged, seen.manifest
    ) as place
from seen
left join base on seen.conversation_id = base.conversation_id and seen.part = base.part
left join losers on seen.manifest = losers.manifest and seen.conversation_id = losers.conversation_id
left join forgotten on seen.conversation_id = forgotten.conversation_id;

create temp table landed as
select
    candidates.manifest,
    candidates.conversation_id,
    candidates.part,
    candidates.content_hash,
    candidates.rows,
    candidates.base_hash is not null as replaces
from candidates
where
    candidates.staged
    and candidates.place = 1
    and candidates.lost_because is null
    and not candidates.is_forgotten
    and candidates.content_hash is distinct from candidates.base_hash;

create temp table dropped as
select
    candidates.manifest,
    candidates.conversation_id,
    candidates.part,
    case
        when candidates.lost_because is not null then candidates.lost_because
        when candidates.is_forgotten then 'forgotten'
        when candidates.content_hash = candidates.base_hash then 'unchanged'
        when candidates.content_hash = winner.content_hash then 'repeated'
        else 'conflicting_versions'
    end as reason
from candidates
left join landed as winner
    on candidates.conversation_id = winner.conversation_id and candidates.part = winner.part
where candidates.staged and candidates.manifest is distinct from winner.manifest;

-- What was made from a part that is replaced is no longer true: what of it this run did not bring anew goes.
create temp table outlived as
select distinct
    base.conversation_id,
    base.part
from base
inner join sources on base.part = sources.part
inner join landed
    on base.conversation_id = landed.conversation_id and sources.source = landed.part and landed.replaces;

create temp table removed as
select
    base.conversation_id,
    base.part,
    base.rows,
    landed.part is null as stale
from base
left join landed on base.conversation_id = landed.conversation_id and base.part = landed.part
left join candidates
    on
        base.conversation_id = candidates.conversation_id
        and base.part = candidates.part
        and candidates.place = 1
        and candidates.lost_because is null
left join outlived on base.conversation_id = outlived.conversation_id and base.part = outlived.part
where landed.part is not null or (outlived.part is not null and candidates.part is null);

create temp table outdated as
select distinct candidates.manifest
from candidates
where
    not candidates.staged
    and candidates.lost_because is null
    and not candidates.is_forgotten
    and candidates.content_hash is distinct from candidates.base_hash
order by candidates.manifest;

create temp table skipped as
select count(*) as conversations
from (
    select seen.conversation_id from seen
    except
    select landed.conversation_id from landed
) as untouched;
