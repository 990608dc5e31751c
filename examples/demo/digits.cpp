#include "digits.hpp"

#include <sluice/stream/npy.hpp>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <span>

namespace demo {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t in_flight = 8;
constexpr std::size_t pixels = 28 * 28;

/// Which of the archive's digits are read.
std::vector<std::int32_t> chosen(const std::map<std::string, sluice::value>& archive, std::size_t count) {
  if (const auto held_out = archive.find("held_out"); held_out != archive.end()) {
    const auto indices = held_out->second.tensor().data<std::int32_t>();
    return {indices.begin(), indices.end()};
  }
  std::vector<std::int32_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

[[noreturn]] void not_digits(const std::filesystem::path& file) {
  throw sluice::error{
      sluice::errc::invalid_argument,
      file.string() + ": needs images uint8 [N,28,28], labels uint8 [N], and indices of them if held_out"};
}

} // namespace

digits_half::digits_half(sluice::engine& engine, const std::filesystem::path& model,
                         const std::filesystem::path& archive)
  : model_(engine.load(model, {.name = "digits"})) {
  const auto arrays = sluice::load_npz(archive);
  if (!arrays.contains("images") || !arrays.contains("labels"))
    not_digits(archive);
  const auto images = arrays.at("images").tensor().data<std::uint8_t>();
  const auto labels = arrays.at("labels").tensor().data<std::uint8_t>();
  if (labels.empty() || images.size() != labels.size() * pixels)
    not_digits(archive);
  const auto indices = chosen(arrays, labels.size());
  auto numbers = sluice::tensor::make(sluice::element_type::float32,
                                      {static_cast<std::int64_t>(indices.size()), 1, 28, 28});
  auto to = numbers->data<float>().begin();
  for (const auto i : indices) {
    if (i < 0 || static_cast<std::size_t>(i) >= labels.size())
      not_digits(archive);
    labels_.push_back(labels[static_cast<std::size_t>(i)]);
    for (const auto byte : images.subspan(static_cast<std::size_t>(i) * pixels, pixels))
      *to++ = static_cast<float>(byte) / 255;
  }
  images_ = std::move(numbers);
}

measured digits_half::run(board& board, const std::atomic<bool>& stop, bool trace) {
  std::mutex mutex;
  std::condition_variable answered;
  std::size_t under_way = 0; // guarded by mutex, as all below
  std::exception_ptr failure;
  measured result;
  const auto start = clock::now();

  const auto on_result = [&](std::size_t i, clock::time_point sent, const sluice::values& outputs) {
    const std::chrono::duration<double, std::micro> took = clock::now() - sent;
    const std::lock_guard lock{mutex};
    result.microseconds.push_back(took.count());
    ++done_;
    if (sluice::argmax(outputs["scores"]) == labels_[i])
      ++right_;
    board.read(done_, right_, labels_.size());
    --under_way;
    answered.notify_one();
  };
  const auto on_error = [&](const sluice::error& e) {
    const std::lock_guard lock{mutex};
    failure = std::make_exception_ptr(e);
    --under_way;
    answered.notify_one();
  };

  std::unique_lock lock{mutex};
  for (std::size_t i = 0; i < labels_.size() && !stop && !failure; ++i) {
    answered.wait(lock, [&] { return under_way < in_flight; });
    ++under_way;
    lock.unlock();
    if (trace && trace_begins(i, labels_.size()))
      model_.start_trace();
    model_.run_async({{"image", sluice::tensor::rows(images_, static_cast<std::int64_t>(i), 1)}})
        .then([&on_result, i, sent = clock::now()](const sluice::values& v) { on_result(i, sent, v); },
              on_error);
    lock.lock();
  }
  answered.wait(lock, [&] { return under_way == 0; });
  result.seconds = std::chrono::duration<double>(clock::now() - start).count();
  if (failure)
    std::rethrow_exception(failure);
  return result;
}

} // namespace demo
