# <build>/python looks like site-packages with torch_ltc installed: links to
# the package's files, a link to the libraries, and the metadata by which
# PyTorch finds the entry point. Put it on PYTHONPATH to run from any build.

set(package "${PROJECT_SOURCE_DIR}/python/torch_ltc")
set(staged "${LTC_PYTHON_DIR}/torch_ltc")
file(GLOB_RECURSE stale "${staged}/*.py" "${staged}/*.js" "${staged}/*.html" "${staged}/_C.*.so")
file(REMOVE ${stale})
file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${package}" "${package}/*")
list(FILTER files EXCLUDE REGEX "__pycache__|\\.pyc$")
foreach(file IN LISTS files)
  cmake_path(GET file PARENT_PATH folder)
  file(MAKE_DIRECTORY "${staged}/${folder}")
  file(CREATE_LINK "${package}/${file}" "${staged}/${file}" SYMBOLIC)
endforeach()
file(MAKE_DIRECTORY "${staged}" "${LTC_LIB_DIR}")
file(CREATE_LINK ../../lib "${staged}/lib" SYMBOLIC)
# The names of the settings, for what has to work without the libraries.
set(table "${PROJECT_SOURCE_DIR}/include/ltc/settings.def")
file(CREATE_LINK "${table}" "${staged}/settings.def" SYMBOLIC)
install(FILES "${table}" DESTINATION torch_ltc COMPONENT python)

# pyproject.toml has the same entry point for the wheel.
set(info "${LTC_PYTHON_DIR}/torch_ltc-${PROJECT_VERSION}.dist-info")
file(WRITE "${info}/METADATA"
  "Metadata-Version: 2.1\nName: torch_ltc\nVersion: ${PROJECT_VERSION}\n")
file(WRITE "${info}/entry_points.txt"
     "[torch.backends]\ntorch_ltc = torch_ltc:_autoload\n"
     "[torch_dynamo_backends]\nltc = torch_ltc.dynamo.backend:ltc\n")
