"""Agent environments: resolve a source, fingerprint it, build it once with uv, keep it in a cache.

The way of a request through this package::

    source text ──parse_source──> Source ──resolve──> ResolvedSource ──fingerprint──> look up
        found: Built(reused=True)
        else:  lock → look up again → build aside → health check → publish by rename → Built(reused=False)

Nothing in here knows Dagster.
"""
