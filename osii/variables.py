"""What each environment variable is for: the text of ``docs/settings.md``, in its order.

Type, default and bounds are those of the call that reads the variable (`osii.env` records them), so each fact stands in
one place. A text may be about several variables. Nothing is read here.
"""

Texts = dict[str, str]

TEXTS: dict[str, Texts] = {
    "Where things are": {
        "OSII_HOME": "Embedded data, document store, generated secrets, logs. A relative path starts at the project.",
        "DATABASE_URL": "Your own PostgreSQL. `postgresql://user:password@host:port/name`; a socket as "
        "`postgresql://user@/name?host=/run/postgresql`; further parameters (`sslmode=…`) go to libpq.",
        "REDIS_URL": "Your own Redis or Valkey. `redis://`, `rediss://` (TLS) or `unix:///path.sock?db=0`.",
        "OSII_SOURCE_ROOTS": "Folders whose files may be added by naming a path in the dashboard or the API.",
        "OSII_UPLOAD_MAX_MB": "How large one upload may be, all its files together. A proxy in front must let as much pass.",
    },
    "Web and workers": {
        "OSII_PORT": "Port of the dashboard on 127.0.0.1.",
        "OSII_BIND": "Where gunicorn listens when you start it yourself.",
        "WEB_CONCURRENCY": "Processes of the web server, of 8 threads each.",
        "OSII_WORKERS": "Worker processes for chats that `up` starts.",
        "OSII_RECONCILE_SECONDS": "How often `up` looks for work that waits without a job, or has lost its worker.",
        "OSII_ADMIN_PASSWORD": "Password of the first staff user `admin`; used when there is no user yet.",
        "SECRET_KEY": "Signs sessions. Several web hosts need the same one.",
        "ALLOWED_HOSTS": "Host names that requests may use.",
        "OSII_HTTPS": "Behind a proxy with TLS: cookies for HTTPS alone, redirects to it, HSTS for 30 days.",
        "OSII_PROXIES": "Proxies in front, each of which sets `X-Forwarded-For` and `X-Forwarded-Proto`. What others write into "
        "these headers is not believed.",
        "OSII_LOGIN_ATTEMPTS": "Failed logins of one account from one address, before it waits up to 15 minutes; an address may have "
        "6 times, an account 20 times as many. 0: no limit.",
        "OSII_API_PER_MINUTE": "Calls of the API under one token in a minute; with a limit also 60 wrong tokens from one address. "
        "0: no limit.",
        "OSII_LOG_FORMAT": "`json` writes one object per line, with the ids of request, job and run.",
        "OSII_METRICS_TOKEN": "Bearer token for `/metrics`. Without it only this machine may read them, and nobody through a proxy.",
        "DEBUG": "Error pages with details; never on a machine that others reach.",
    },
    "Reading chats": {
        "EXTRACTION_WORKER": "What reads: `rules` (offline), `llm` ([connect a model](connect-a-model.md)), or one that a package "
        "[brings](add-a-worker.md).",
        "EXTRACTION_CHUNK_TOKENS": "Unread tokens that trigger reading, and the size of one batch.",
        "EXTRACTION_TURN_BATCHES": "Batches that a worker reads of one chat before the next chat in the queue gets its turn.",
        "EXTRACTION_MAX_FAILURES": "Failures after which a batch is parked.",
        "EXTRACTION_LEASE_SECONDS": "Silence after which a run counts as lost and is taken over.",
        "EXTRACTION_UNSETTLED_SECONDS": "Age at which a message that still streams is read as it stands.",
        "EXTRACTION_TOKENS_PER_RUN": "Tokens after which a run ends, with a note; what it leaves stays uncovered. 0: no cap.",
        "EXTRACTION_TOKENS_PER_DAY": "Tokens read within any 24 hours after which runs wait in the queue. 0: no cap.",
        "EXTRACTION_COST_PER_RUN": "The cap of a run in money, by the prices of the models; see [turns and caps](coverage.md#turns-and-caps).",
        "EXTRACTION_COST_PER_DAY": "The cap of 24 hours in money.",
    },
    "Merging and review": {
        "OSII_REVIEW_MODE": "`manual` lets every candidate wait for staff; a learner may have a mode of their own ([review](review.md)).",
        "OSII_AUDITOR": "What decides whether a claim is known: `nearness` (offline) or `llm` ([merging](merging.md)).",
        "OSII_AUDIT_NEAREST": "Propositions that are nominated for each claim, of those in retrieval and of the others.",
        "OSII_AUDIT_GRAPH_TOKENS": "A graph of at most so many tokens is shown to the auditor whole.",
    },
    "The language model": {
        "OSII_LLM_PROVIDER": "`openai` (every server that speaks this API) or `anthropic`.",
        "OSII_LLM_BASE_URL": "Address of your own or another server.",
        "OSII_LLM_MODEL": "The model's name, as the endpoint knows it.",
        "OSII_LLM_API_KEY": "The key, if the endpoint wants one. It is in no log, no error and no table.",
        "OSII_LLM_TIMEOUT_SECONDS": "What one request may take.",
        "OSII_LLM_MAX_REQUESTS": "Requests of one batch, repeated ones included.",
        "OSII_LLM_MAX_TOOL_CALLS": "Tool calls of one batch.",
        "OSII_LLM_MAX_TOKENS": "Tokens in and out of one batch, as the endpoint counts them.",
        "OSII_LLM_BATCH_SECONDS": "What one batch may take.",
        "OSII_LLM_PRICE_INPUT": "Price of a million tokens in. Without prices the cost is not known.",
        "OSII_LLM_PRICE_OUTPUT": "Price of a million tokens out.",
        "OSII_LLM_PRICE_CACHE_READ": "Price of a million tokens read from the provider's cache.",
        "OSII_LLM_PRICE_CACHE_WRITE": "Price of a million tokens written to it.",
        "OSII_CURRENCY": "What prices and caps are written in; a label, nothing is converted.",
    },
    "Embeddings and search": {
        "OSII_EMBEDDER": "`minilm` (offline, installed), `embeddinggemma` (weights in `OSII_HOME/models`), `endpoint` (a server), "
        "`hashing` (no model; for tests); see [embedders](graph-context.md#embedders-and-spaces).",
        "OSII_EMBEDDINGS_BASE_URL": "For `endpoint`: the address before `/embeddings`.",
        "OSII_EMBEDDINGS_MODEL": "For `endpoint`, must be given: the model's name there.",
        "OSII_EMBEDDINGS_DIMENSION": "For `endpoint`, must be given: how many numbers a vector has here.",
        "OSII_EMBEDDINGS_API_KEY": "Sent in a header. It is in no row, no message and no log.",
        "OSII_EMBEDDINGS_TRUNCATE_FROM": "For models that may be cut (Matryoshka): the dimension that the server gives, of which the first "
        "ones are kept and re-normalised. 0: not cut.",
        "OSII_EMBEDDINGS_REVISION": "A name of your own: another one is another space.",
        "OSII_EMBEDDINGS_QUERY_FORMAT": "How the model wants a topic or a query.",
        "OSII_EMBEDDINGS_DOCUMENT_FORMAT": "How it wants a proposition or a chunk.",
        "OSII_EMBEDDINGS_MAX_TOKENS": "Texts of more than four characters for each are cut before they are sent.",
        "OSII_EMBEDDINGS_BATCH": "Texts per request.",
        "OSII_EMBEDDINGS_TIMEOUT_SECONDS": "What one request may take.",
        "OSII_EMBEDDINGS_RETRIES": "How often 429, 5xx and lost connections are tried again, with growing pauses.",
        "OSII_GRAPH_EXACT_VECTORS": "A learner's vectors that are scanned exactly; of more, an index answers if there is one "
        "([the scan](graph-context.md#the-scan)).",
        "OSII_SEARCH_EXACT_VECTORS": "Chunk vectors in a search's scope that are compared one by one; of more, an index answers if there "
        "is one ([search](search.md#meaning)).",
    },
    "Steers": {
        "OSII_INTERACTIVE_TOOLS": "Tools that ask the learner something: a steer waits behind their unanswered call.",
        "OSII_STEER_OFFER_SECONDS": "How long an offered steer waits for its acknowledgement before another turn is offered it.",
    },
    "Of one command": {
        "OSII_TOKEN": "The learner's token of `manage.py mcp` ([connect a client](connect-a-client.md#mcp)).",
    },
}

DEFAULTS: Texts = {
    "OSII_HOME": "`var/`",
    "DATABASE_URL": "an embedded one",
    "REDIS_URL": "an embedded one",
    "OSII_BIND": "`127.0.0.1:OSII_PORT`",
    "OSII_ADMIN_PASSWORD": "made, and printed once",
    "SECRET_KEY": "made, in `OSII_HOME/secret_key`",
    "OSII_PROXIES": "1 with `OSII_HTTPS`, else 0",
    "OSII_LLM_BASE_URL": "the provider's own",
    "OSII_EMBEDDINGS_BASE_URL": "OpenAI's",
    "OSII_EMBEDDINGS_DIMENSION": "none",
    "OSII_LLM_PRICE_CACHE_READ": "as others",
    "OSII_LLM_PRICE_CACHE_WRITE": "as others",
}
"""What counts where a variable is not set, for those whose default is no value that could be written."""
