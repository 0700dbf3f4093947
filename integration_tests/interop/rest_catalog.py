"""A REST catalog of another maker: Iceberg's own, over an SQLite database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyspark
from py4j.java_gateway import JavaGateway

from .fetch import kit, rest_catalog_jars

# Of Spark's jars, those that the server needs.
_SPARKS: Final = ("avro-1", "jackson-", "slf4j-api", "hadoop-client", "py4j-")


@contextmanager
def rest_catalog(folder: Path) -> Iterator[str]:
    """Serve an empty catalog to this machine alone, and yield the address."""
    spark = sorted((Path(pyspark.__file__).parent / "jars").iterdir())
    needed = [one for one in spark if one.name.startswith(_SPARKS)]
    (py4j,) = (str(one) for one in needed if one.name.startswith("py4j-"))
    classpath = os.pathsep.join(map(str, [*kit(), *rest_catalog_jars(), *needed]))
    gateway = JavaGateway.launch_gateway(jarpath=py4j, classpath=classpath, die_on_exit=True)
    try:
        server = _server(gateway.jvm, folder)
        server.start()
        yield f"http://127.0.0.1:{server.getConnectors()[0].getLocalPort()}"
        server.stop()
    finally:
        gateway.shutdown()


def _server(jvm: Any, folder: Path) -> Any:
    settings = jvm.java.util.HashMap()
    settings.put("catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog")
    settings.put("uri", f"jdbc:sqlite:{folder}/catalog.db")
    settings.put("warehouse", f"file://{folder}/warehouse")
    # The first version has no views.
    settings.put("jdbc.schema-version", "V1")
    hadoop = jvm.org.apache.hadoop.conf.Configuration()
    catalog = jvm.org.apache.iceberg.CatalogUtil.buildIcebergCatalog("other", settings, hadoop)
    rest = jvm.org.apache.iceberg.rest
    servlet = rest.RESTCatalogServlet(rest.RESTCatalogAdapter(catalog))
    jetty = jvm.org.eclipse.jetty
    context = jetty.ee10.servlet.ServletContextHandler()
    context.addServlet(jetty.ee10.servlet.ServletHolder(servlet), "/*")
    server = jetty.server.Server(jvm.java.net.InetSocketAddress("127.0.0.1", 0))
    server.setHandler(context)
    return server
