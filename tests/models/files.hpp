#pragma once

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sluice::test {

/// A file of the repository, by its path from the root.
[[nodiscard]] std::filesystem::path in_repository(const std::filesystem::path& file);

/// A file that the repository does not carry: a model, or what lies beside it, or one of tools/fetch_assets.
/// Paths that begin with "examples" are the repository's own, absolute ones stay. It may be absent.
[[nodiscard]] std::filesystem::path asset(const std::filesystem::path& file);

/// Whether a case runs, as Boost.Test asks.
using precondition = std::function<boost::test_tools::assertion_result(boost::unit_test::test_unit_id)>;

/// Lets a case run only where its assets are, and a `heavy` one, of hundreds of megabytes, not with
/// AddressSanitizer; otherwise it is skipped, and says why.
[[nodiscard]] precondition needs(std::vector<std::filesystem::path> assets, bool heavy = false);

/// SHA-256 of a file in hexadecimal digits, by coreutils' sha256sum; empty if that is not there.
[[nodiscard]] std::string sha256_of(const std::filesystem::path& file);

} // namespace sluice::test
