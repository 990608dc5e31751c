#pragma once

// What an example that is no whole program may use, besides its parameters (extract.py).
#include <sluice/caf.hpp>
#include <sluice/graph/onnx_import.hpp>
#include <sluice/sluice.hpp>
#include <sluice/stream/csv_file.hpp>
#include <sluice/stream/image_file.hpp>
#include <sluice/stream/npy.hpp>
#include <sluice/stream/wav_file.hpp>

#include <caf/all.hpp>

#include <chrono>
#include <fstream>
#include <iostream>

using namespace std::chrono_literals;
