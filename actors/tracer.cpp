#include <sluice/actors/tracer.hpp>

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <ostream>
#include <thread>

namespace sluice {

namespace {

std::string thread_name() {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  return name;
}

void write_text(std::ostream& to, std::string_view s) {
  to << '"';
  for (const char c : s) {
    if (c == '"' || c == '\\')
      to << '\\' << c;
    else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      to << escaped;
    } else
      to << c;
  }
  to << '"';
}

} // namespace

struct tracer::track {
  struct slice {
    firing what;
    std::vector<std::string_view> consumers;
  };
  std::thread::id thread;
  std::string name;
  std::mutex mutex;
  std::vector<slice> slices; // guarded by mutex
  std::size_t dropped = 0;   // guarded by mutex
};

tracer::tracer(std::size_t capacity) : capacity_(capacity) {}
tracer::~tracer() = default;

tracer::track& tracer::of_thread() {
  const auto me = std::this_thread::get_id();
  const std::lock_guard lock{mutex_};
  const auto at =
      std::find_if(tracks_.begin(), tracks_.end(), [me](const auto& t) { return t->thread == me; });
  if (at != tracks_.end())
    return **at;
  auto& made = *tracks_.emplace_back(std::make_unique<track>());
  made.thread = me;
  made.name = thread_name();
  return made;
}

void tracer::record(const firing& f, std::span<const std::string_view> consumers) {
  auto& t = of_thread();
  const std::lock_guard lock{t.mutex};
  if (t.slices.size() >= capacity_)
    ++t.dropped;
  else
    t.slices.push_back({f, {consumers.begin(), consumers.end()}});
}

std::size_t tracer::recorded() const {
  const std::lock_guard lock{mutex_};
  std::size_t n = 0;
  for (const auto& t : tracks_) {
    const std::lock_guard inner{t->mutex};
    n += t->slices.size();
  }
  return n;
}

std::size_t tracer::dropped() const {
  const std::lock_guard lock{mutex_};
  std::size_t n = 0;
  for (const auto& t : tracks_) {
    const std::lock_guard inner{t->mutex};
    n += t->dropped;
  }
  return n;
}

void tracer::write(std::ostream& to) const {
  const std::lock_guard lock{mutex_};
  const auto us = [this](clock::time_point t) {
    return std::chrono::duration<double, std::micro>(t - start_).count();
  };
  struct place {
    std::size_t track;
    clock::time_point begin;
  };
  std::map<std::pair<std::uint64_t, std::string_view>, place> places; // where a node fired for a frame
  std::vector<std::vector<track::slice>> slices;
  for (const auto& t : tracks_) {
    const std::lock_guard inner{t->mutex};
    slices.push_back(t->slices);
  }
  for (std::size_t i = 0; i < slices.size(); ++i)
    for (const auto& s : slices[i])
      places[{s.what.frame, s.what.node}] = {i, s.what.begin};

  to << std::fixed << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
     << R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"sluice"}})";
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    to << ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":" << i << R"(,"name":"thread_name","args":{"name":)";
    write_text(to, tracks_[i]->name);
    to << "}}";
  }
  std::uint64_t arrow = 0;
  for (std::size_t i = 0; i < slices.size(); ++i)
    for (const auto& s : slices[i]) {
      to << ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":" << i << ",\"ts\":" << us(s.what.begin)
         << ",\"dur\":" << us(s.what.end) - us(s.what.begin) << ",\"name\":";
      write_text(to, s.what.node);
      to << ",\"cat\":";
      write_text(to, s.what.op);
      to << ",\"args\":{\"frame\":" << s.what.frame << "}}";
      for (const auto& consumer : s.consumers) {
        const auto at = places.find({s.what.frame, consumer});
        if (at == places.end())
          continue;
        ++arrow;
        to << ",\n{\"ph\":\"s\",\"pid\":1,\"tid\":" << i << ",\"ts\":" << us(s.what.end)
           << ",\"id\":" << arrow << R"(,"name":"value","cat":"edge"},)"
           << "\n{\"ph\":\"f\",\"bp\":\"e\",\"pid\":1,\"tid\":" << at->second.track
           << ",\"ts\":" << us(at->second.begin) << ",\"id\":" << arrow << R"(,"name":"value","cat":"edge"})";
      }
    }
  to << "\n]}\n";
}

} // namespace sluice
