"""Settings of the web server, for `gunicorn --config python:osii.gunicorn_conf osii.wsgi`, as `up` and the units in deploy/ start it.

One process with threads: its matrices are then in memory once. Give it more of them (WEB_CONCURRENCY) where the processor
is what is short. A request may last as long as it needs to receive an upload, while something of it comes (`osii.serving`); a worker
that hangs is another matter, and `timeout` does not see it with threads: a proxy in front has its own.
"""

from osii import env
from osii.ops import logs

bind = env.string("OSII_BIND") or f"127.0.0.1:{env.integer('OSII_PORT', 8000, least=1, most=65535)}"
worker_class = "osii.serving.Worker"
workers = env.integer("WEB_CONCURRENCY", 1, least=1, most=64)
threads = 8
graceful_timeout = 15  # a request in hand may end; nothing new is taken
timeout = 120
# Longer than a proxy in front keeps a connection that rests (nginx a minute, Caddy two): it would send a request into one that
# is just being closed, and answer 502. A connection that rests holds no thread, but is one of a thousand: of strangers, not for long.
proxied = env.integer("OSII_PROXIES", int(env.boolean("OSII_HTTPS", default=False)), least=0, most=5) > 0
keepalive = 130 if proxied else 5
backlog = 256

# Larger ones are refused before anything of ours sees them.
limit_request_line = 8190
limit_request_fields = 100
limit_request_field_size = 8190

# Whether a request came by HTTPS, the settings decide (OSII_HTTPS), not a header that anybody can send.
forwarded_allow_ips = ""
control_socket_disable = True
loglevel = "warning"
logconfig_dict = logs.configuration(
    env.choice("OSII_LOG_FORMAT", tuple(logs.FORMATS), "plain"),
    **{
        name: {"handlers": ["stderr"], "level": "WARNING", "propagate": False, "filters": ["brief"]}
        for name in ("gunicorn.error", "gunicorn.access")
    },
)
logconfig_dict["filters"] = {"brief": {"()": "osii.serving.Brief"}}


def post_worker_init(worker: object) -> None:
    """Called by gunicorn in each process that serves, once its application is there."""
    from osii import warming

    warming.in_web_server()
