"""All settings. Every environment variable of the project is read here, strictly; what each is for stands in `osii.variables`."""

import contextlib
import logging
import os
import secrets
import tempfile
from urllib.parse import parse_qsl, unquote, urlsplit

from csp.constants import NONE, SELF

from extraction import installed
from osii import embedded, env
from osii.ops import logs

# Before torch or a tokenizer can load: no idle spinning on few cores, nothing asks the network for weights.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

BASE_DIR = env.BASE_DIR
OSII_HOME = env.home()
OSII_PORT = env.integer("OSII_PORT", 8000, least=1, most=65535)
OSII_WORKERS = env.integer("OSII_WORKERS", 1, least=1, most=64)
OSII_RECONCILE_SECONDS = env.integer("OSII_RECONCILE_SECONDS", 30, least=1, most=3600)
OSII_ADMIN_PASSWORD = env.string("OSII_ADMIN_PASSWORD")
OSII_UPLOAD_MAX_MB = env.integer("OSII_UPLOAD_MAX_MB", 2048, least=1, most=1_000_000)
# Folders whose files may be added by naming a path in the dashboard or the API; none: no path may.
OSII_SOURCE_ROOTS = env.folders("OSII_SOURCE_ROOTS")


def secret_key() -> str:
    """SECRET_KEY, or one generated into OSII_HOME; two processes that start at once agree on one."""
    given = env.string("SECRET_KEY")
    if given:
        return given
    kept = OSII_HOME / "secret_key"
    try:
        if not kept.exists():
            embedded.make_home()
            with tempfile.NamedTemporaryFile("w", dir=OSII_HOME, prefix="secret_key.", encoding="ascii") as fresh:
                fresh.write(secrets.token_urlsafe(64))  # the file is made with mode 0600
                fresh.flush()
                with contextlib.suppress(FileExistsError):
                    os.link(fresh.name, kept)  # the first one wins, complete
        return kept.read_text(encoding="ascii")
    except OSError as error:
        raise env.wrong("OSII_HOME", str(OSII_HOME), f"a directory that can be written ({error.strerror})") from None


DEBUG = env.boolean("DEBUG", default=False)
SECRET_KEY = secret_key()
ALLOWED_HOSTS = env.strings("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])


# --- Running it for others -------------------------------------------------------------------------------------------

# Behind a proxy with TLS: cookies and redirects for HTTPS alone. The proxy must set X-Forwarded-Proto and X-Forwarded-For.
OSII_HTTPS = env.boolean("OSII_HTTPS", default=False)
OSII_PROXIES = env.integer("OSII_PROXIES", 1 if OSII_HTTPS else 0, least=0, most=5)
if OSII_HTTPS and not OSII_PROXIES:
    raise env.wrong(
        "OSII_PROXIES", "0", "at least 1 with OSII_HTTPS: the web server speaks HTTP, and a proxy before it TLS"
    )
OSII_LOG_FORMAT = env.choice("OSII_LOG_FORMAT", tuple(logs.FORMATS), "plain")
OSII_METRICS_TOKEN = env.string("OSII_METRICS_TOKEN")
# Failed logins of one account from one address before a quarter of an hour's wait; 0: no limit.
OSII_LOGIN_ATTEMPTS = env.integer("OSII_LOGIN_ATTEMPTS", 5, least=0, most=1000)
# Calls of the API under one token; 0: no limit.
OSII_API_PER_MINUTE = env.integer("OSII_API_PER_MINUTE", 6000, least=0, most=10**6)
logs.secrets.learn(SECRET_KEY)

# --- Reading chats -------------------------------------------------------------------------------------------------

EXTRACTION_CHUNK_TOKENS = env.integer("EXTRACTION_CHUNK_TOKENS", 4000, least=500, most=32000)
EXTRACTION_MAX_FAILURES = env.integer("EXTRACTION_MAX_FAILURES", 3, least=1, most=100)
EXTRACTION_LEASE_SECONDS = env.integer("EXTRACTION_LEASE_SECONDS", 60, least=5, most=3600)
EXTRACTION_UNSETTLED_SECONDS = env.integer("EXTRACTION_UNSETTLED_SECONDS", 3600, least=1, most=30 * 86400)
EXTRACTION_TURN_BATCHES = env.integer("EXTRACTION_TURN_BATCHES", 4, least=1, most=1000)
# Caps on what is read; 0 is no cap.
EXTRACTION_TOKENS_PER_RUN = env.integer("EXTRACTION_TOKENS_PER_RUN", 0, least=0, most=10**12)
EXTRACTION_TOKENS_PER_DAY = env.integer("EXTRACTION_TOKENS_PER_DAY", 0, least=0, most=10**12)
# In OSII_CURRENCY; none or 0 is no cap.
EXTRACTION_COST_PER_RUN = env.amount("EXTRACTION_COST_PER_RUN")
EXTRACTION_COST_PER_DAY = env.amount("EXTRACTION_COST_PER_DAY")
EXTRACTION_WORKER = env.choice("EXTRACTION_WORKER", ("rules", "llm"), "rules", more=installed.worker_paths)

# --- Merging -------------------------------------------------------------------------------------------------------

OSII_AUDITOR = env.choice("OSII_AUDITOR", ("nearness", "llm"), "nearness")
OSII_AUDIT_NEAREST = env.integer("OSII_AUDIT_NEAREST", 20, least=1, most=200)
OSII_AUDIT_GRAPH_TOKENS = env.integer("OSII_AUDIT_GRAPH_TOKENS", 2000, least=0, most=200_000)
OSII_REVIEW_MODE = env.choice("OSII_REVIEW_MODE", ("auto", "manual"), "auto")

# --- Steers ---------------------------------------------------------------------------------------------------------

# Tools that ask the learner something: a steer waits behind their unanswered call.
OSII_INTERACTIVE_TOOLS = env.strings(
    "OSII_INTERACTIVE_TOOLS", ["ask", "ask_user", "ask_question", "question", "quiz", "clarify"]
)
OSII_STEER_OFFER_SECONDS = env.integer("OSII_STEER_OFFER_SECONDS", 30, least=1, most=3600)

# --- Models --------------------------------------------------------------------------------------------------------

OSII_EMBEDDER = env.choice("OSII_EMBEDDER", ("minilm", "embeddinggemma", "endpoint", "hashing"), "minilm")
# The embedder "endpoint": any server that speaks OpenAI's embeddings API.
OSII_EMBEDDINGS_BASE_URL = env.url("OSII_EMBEDDINGS_BASE_URL", ("http", "https"))
OSII_EMBEDDINGS_MODEL = env.string("OSII_EMBEDDINGS_MODEL")
OSII_EMBEDDINGS_API_KEY = env.string("OSII_EMBEDDINGS_API_KEY")
OSII_EMBEDDINGS_REVISION = env.string("OSII_EMBEDDINGS_REVISION")
OSII_EMBEDDINGS_DIMENSION = env.integer("OSII_EMBEDDINGS_DIMENSION", 0, least=1, most=16_000)
OSII_EMBEDDINGS_TRUNCATE_FROM = env.integer("OSII_EMBEDDINGS_TRUNCATE_FROM", 0, least=0, most=65_536)
OSII_EMBEDDINGS_QUERY_FORMAT = env.text_format("OSII_EMBEDDINGS_QUERY_FORMAT")
OSII_EMBEDDINGS_DOCUMENT_FORMAT = env.text_format("OSII_EMBEDDINGS_DOCUMENT_FORMAT")
OSII_EMBEDDINGS_MAX_TOKENS = env.integer("OSII_EMBEDDINGS_MAX_TOKENS", 8000, least=16, most=1_000_000)
OSII_EMBEDDINGS_BATCH = env.integer("OSII_EMBEDDINGS_BATCH", 64, least=1, most=2048)
OSII_EMBEDDINGS_TIMEOUT_SECONDS = env.integer("OSII_EMBEDDINGS_TIMEOUT_SECONDS", 30, least=1, most=600)
OSII_EMBEDDINGS_RETRIES = env.integer("OSII_EMBEDDINGS_RETRIES", 4, least=0, most=20)
# More chunk vectors in a search's scope are searched by the index that `search --build-index` makes, if there is one.
OSII_SEARCH_EXACT_VECTORS = env.integer("OSII_SEARCH_EXACT_VECTORS", 200_000, least=0, most=10_000_000)
# A learner with more vectors is scanned by the index that `backfill_embeddings --build-index` makes, if there is one.
OSII_GRAPH_EXACT_VECTORS = env.integer("OSII_GRAPH_EXACT_VECTORS", 1_000_000, least=0, most=100_000_000)
OSII_LLM_PROVIDER = env.choice("OSII_LLM_PROVIDER", ("openai", "anthropic"), "openai")
OSII_LLM_BASE_URL = env.url("OSII_LLM_BASE_URL", ("http", "https"))
OSII_LLM_MODEL = env.string("OSII_LLM_MODEL")
OSII_LLM_API_KEY = env.string("OSII_LLM_API_KEY")
# Per request, and then per batch.
OSII_LLM_TIMEOUT_SECONDS = env.integer("OSII_LLM_TIMEOUT_SECONDS", 120, least=1, most=3600)
OSII_LLM_MAX_REQUESTS = env.integer("OSII_LLM_MAX_REQUESTS", 60, least=2, most=1000)
OSII_LLM_MAX_TOOL_CALLS = env.integer("OSII_LLM_MAX_TOOL_CALLS", 200, least=2, most=5000)
OSII_LLM_MAX_TOKENS = env.integer("OSII_LLM_MAX_TOKENS", 200_000, least=1000, most=100_000_000)
OSII_LLM_BATCH_SECONDS = env.integer("OSII_LLM_BATCH_SECONDS", 900, least=10, most=86_400)
# Per million tokens; None is not known.
OSII_LLM_PRICE_INPUT = env.amount("OSII_LLM_PRICE_INPUT")
OSII_LLM_PRICE_OUTPUT = env.amount("OSII_LLM_PRICE_OUTPUT")
OSII_LLM_PRICE_CACHE_READ = env.amount("OSII_LLM_PRICE_CACHE_READ")
OSII_LLM_PRICE_CACHE_WRITE = env.amount("OSII_LLM_PRICE_CACHE_WRITE")
OSII_CURRENCY = env.string("OSII_CURRENCY", "USD")

# --- Django --------------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.contrib.postgres",
    "django_htmx",
    "django_rq",
    "csp",
    "ninja",  # its documentation page takes its files from here instead of another host
    "coverage",
    "graphctx",
    "extraction",
    "osii",
]

MIDDLEWARE = [
    "csp.middleware.CSPMiddleware",  # around everything: no answer is without a policy
    "osii.ops.requests.OperationsMiddleware",
    "osii.api.middleware.ApiMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "osii.ops.audit.AdminRecordMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "osii.web.methods.FormAddressMiddleware",
]

ROOT_URLCONF = "osii.urls"
WSGI_APPLICATION = "osii.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


def database(url: str) -> dict:
    """Django's database settings for a postgresql:// URL; its query parameters go to libpq, `host` may be a socket."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "osii",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", "") or unquote(parts.hostname or ""),
        "PORT": options.pop("port", "") or str(parts.port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {"connect_timeout": "10", **options},
    }


DATABASES = {"default": database(embedded.database_url())}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# One queue per worker process: a worker on several queues can lose a job that it is killed with.
RQ_QUEUES = {name: {"URL": embedded.redis_url(), "DEFAULT_TIMEOUT": 3600} for name in ("chats", "library", "steers")}
RQ = {"COMMIT_MODE": "on_db_commit"}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en-us"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
# Files are served from the apps' own folders: no collecting step between a clone and a page.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

# --- Browser security ----------------------------------------------------------------------------------------------

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    },
}
DEFAULT_EXCEPTION_REPORTER = "osii.ops.errors.Reporter"
# A larger request body is refused, by the API with 413. Files of a form are not counted; OSII_UPLOAD_MAX_MB limits them.
DATA_UPLOAD_MAX_MEMORY_SIZE = 32 * 2**20
DATA_UPLOAD_MAX_NUMBER_FILES = 1000

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_NAME = "osii_session"
SESSION_COOKIE_HTTPONLY = True
CSRF_COOKIE_NAME = "osii_csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = OSII_HTTPS
SECURE_HSTS_SECONDS = 30 * 86_400 if OSII_HTTPS else 0
if OSII_HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# HSTS for other hosts of the domain, and its entry in browsers' own lists, are not for one application to decide.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

# --- Logging: lines on stderr, plain or JSON ----------------------------------------------------------------------------------


SENT_WRONG = (
    "DisallowedHost", "DisallowedRedirect", "InvalidSessionKey", "RequestDataTooBig", "SuspiciousMultipartForm", "SuspiciousSession",
    "TooManyFieldsSent", "TooManyFilesSent",
)  # fmt: skip


def one_line(record: logging.LogRecord) -> bool:
    """Anybody can send these: a traceback says nothing that the message does not."""
    record.exc_info = record.exc_text = None
    return True


LOGGING = logs.configuration(
    OSII_LOG_FORMAT,
    **{
        "django": {"level": "WARNING"},
        "django.request": {"level": "ERROR"},  # what a client did wrong, its answer says
        **{f"django.security.{name}": {"filters": ["one_line"]} for name in SENT_WRONG},
        "django.server": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        **{name: {"level": "INFO"} for name in ("coverage", "graphctx", "extraction", "osii")},
    },
)
LOGGING["filters"] = {"one_line": {"()": "django.utils.log.CallbackFilter", "callback": one_line}}
