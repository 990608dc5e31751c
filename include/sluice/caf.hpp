#pragma once

/// Sessions and nodes as actors of the C++ Actor Framework.

#include <sluice/actors/handles.hpp>
#include <sluice/actors/messages.hpp>
