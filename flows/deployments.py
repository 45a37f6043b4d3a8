"""Flows that a Prefect worker runs; infra/prefect.yaml names them.

No command imports this module, since it imports Prefect. The form of each flow is its one parameter: the fields of its
settings, with their help.
"""

from prefect import flow

from memlake.flows import embed as embedding
from memlake.flows import forget as forgetting
from memlake.flows import ingest as ingestion
from memlake.flows import link as linking
from memlake.flows import represent as representation
from memlake.flows import study as studying

ingest = flow(name="ingest", persist_result=False)(ingestion.ingest)
represent = flow(name="represent", persist_result=False)(representation.represent)
embed = flow(name="embed", persist_result=False)(embedding.embed)
link = flow(name="link", persist_result=False)(linking.link)
study = flow(name="study", persist_result=False)(studying.run_study)
forget = flow(name="forget", persist_result=False)(forgetting.forget)
