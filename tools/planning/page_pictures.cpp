#include <tools/planning/page_parts.hpp>

#include <tools/planning/figures.hpp>

#include <algorithm>
#include <cstdio>
#include <map>

namespace sluice::tools {

namespace {

constexpr double width = 1000; ///< of all pictures, in their own units
constexpr double label = 90;   ///< room on the left
constexpr double row = 22;

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", x);
  return text;
}

std::string svg(double height, const std::string& content) {
  return "<svg viewBox=\"0 0 " + number(width) + ' ' + number(height) + "\">\n" + content + "</svg>\n";
}

std::string rect(double x, double y, double w, double h, const std::string& kind, const std::string& title) {
  return "<rect class=" + kind + " x=" + number(x) + " y=" + number(y) +
         " width=" + number(std::max(w, 0.4)) + " height=" + number(h) + "><title>" + escaped(title) +
         "</title></rect>\n";
}

std::string text(double x, double y, const std::string& what) {
  return "<text x=" + number(x) + " y=" + number(y) + '>' + escaped(what) + "</text>\n";
}

std::string colour(std::size_t device) {
  return "d" + std::to_string(device % 5);
}

/// From time to a place on the picture.
class time_scale {
public:
  explicit time_scale(double all) : factor_((width - label) / std::max(all, 1.0)) {}
  [[nodiscard]] double at(double ns) const { return label + ns * factor_; }
  [[nodiscard]] double length(double ns) const { return ns * factor_; }

private:
  double factor_;
};

/// For each part the parts that it gets something from, with the bytes.
std::map<std::pair<std::size_t, std::size_t>, std::size_t> edges_between_parts(const model_plan& p) {
  std::vector<std::size_t> part_of(p.problem().steps.size());
  for (std::size_t i = 0; i < p.parts.size(); ++i)
    for (const auto s : p.parts[i].steps)
      part_of[s] = i;
  std::vector<std::uint32_t> maker(p.problem().values.size(), plan_problem::none);
  for (std::uint32_t s = 0; s < p.problem().steps.size(); ++s)
    for (const auto v : p.problem().steps[s].outputs)
      maker[v] = s;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> edges;
  std::map<std::pair<std::uint32_t, std::size_t>, bool> seen; // value, part
  for (std::uint32_t s = 0; s < p.problem().steps.size(); ++s)
    for (const auto v : p.problem().steps[s].inputs)
      if (maker[v] != plan_problem::none && part_of[maker[v]] != part_of[s] &&
          seen.emplace(std::pair{v, part_of[s]}, true).second)
        edges[{part_of[maker[v]], part_of[s]}] += p.problem().values[v].bytes;
  return edges;
}

} // namespace

std::string escaped(std::string_view what) {
  std::string made;
  for (const auto c : what)
    switch (c) {
    case '&':
      made += "&amp;";
      break;
    case '<':
      made += "&lt;";
      break;
    case '>':
      made += "&gt;";
      break;
    case '"':
      made += "&quot;";
      break;
    default:
      made += c;
    }
  return made;
}

std::string timeline_picture(const model_plan& p) {
  const auto& schedule = p.placed.made.schedule;
  const time_scale time{schedule.finish_ns};
  std::string content;
  std::vector<double> first_row; // by device
  auto y = 0.0;
  for (const auto& d : p.devices) {
    content += text(0, y + 15, d.device.name);
    first_row.push_back(y);
    std::uint32_t lanes = 0;
    for (std::size_t s = 0; s < schedule.firings.size(); ++s)
      if (p.placed.made.places[s] == first_row.size() - 1)
        lanes = std::max(lanes, schedule.firings[s].lane + 1);
    y += row * std::max(1U, lanes);
  }
  for (std::size_t s = 0; s < schedule.firings.size(); ++s) {
    const auto& f = schedule.firings[s];
    const auto d = p.placed.made.places[s];
    content += rect(time.at(f.start_ns), first_row[d] + row * f.lane + 2,
                    time.length(f.finish_ns - f.start_ns), row - 4, colour(d),
                    p.problem().steps[s].name + ", " + ms(f.finish_ns - f.start_ns) + " ms from " +
                        ms(f.start_ns) + " ms");
  }
  std::map<std::uint32_t, double> link_row;
  for (const auto& t : schedule.transfers)
    link_row.emplace(t.link, 0);
  for (auto& [l, at] : link_row) {
    const auto& link = p.problem().links[l];
    content += text(0, y + 15, p.devices[link.from].device.name + " → " + p.devices[link.to].device.name);
    at = y;
    y += row;
  }
  for (const auto& t : schedule.transfers) {
    const auto& v = p.problem().values[t.value];
    content +=
        rect(time.at(t.start_ns), link_row[t.link] + 2, time.length(t.finish_ns - t.start_ns), row - 4, "w",
             v.name + ", " + bytes(v.bytes) + ", " + ms(t.finish_ns - t.start_ns) + " ms from " +
                 ms(t.start_ns) + " ms");
  }
  content += text(label, y + 14, "0") + text(width - 70, y + 14, ms(schedule.finish_ns) + " ms");
  return svg(y + 20, content);
}

std::string parts_picture(const model_plan& p) {
  constexpr double box = 34;
  constexpr double step = 80;
  const auto columns = std::max<double>(1, static_cast<double>(p.parts.size()));
  const auto stride = std::min((width - label) / columns, 140.0);
  const auto box_width = std::max(stride * 0.7, 1.0);
  const auto x_of = [&](std::size_t part) { return label + stride * static_cast<double>(part); };
  const auto y_of = [&](std::size_t part) { return 10 + step * p.parts[part].device; };
  std::string content;
  for (std::size_t d = 0; d < p.devices.size(); ++d)
    content += text(0, 10 + step * static_cast<double>(d) + 20, p.devices[d].device.name);
  for (const auto& [between, moved] : edges_between_parts(p)) {
    const auto [from, to] = between;
    const auto x1 = x_of(from) + box_width, y1 = y_of(from) + box / 2;
    const auto x2 = x_of(to), y2 = y_of(to) + box / 2;
    const auto bend = p.parts[from].device == p.parts[to].device && to > from + 1 ? y1 + box : (y1 + y2) / 2;
    content += "<path class=edge d=\"M" + number(x1) + ' ' + number(y1) + " Q" + number((x1 + x2) / 2) + ' ' +
               number(bend) + ' ' + number(x2) + ' ' + number(y2) + "\"><title>part " +
               std::to_string(from + 1) + " to part " + std::to_string(to + 1) + ": " + bytes(moved) +
               "</title></path>\n";
  }
  for (std::size_t i = 0; i < p.parts.size(); ++i) {
    const auto& part = p.parts[i];
    content += rect(x_of(i), y_of(i), box_width, box, colour(part.device),
                    "part " + std::to_string(i + 1) + ": " + std::to_string(part.steps.size()) + " steps, " +
                        p.problem().steps[part.steps.front()].name + " to " +
                        p.problem().steps[part.steps.back()].name + ", " + ms(part.work_ns) + " ms");
    if (box_width > 18)
      content += text(x_of(i) + 4, y_of(i) + 21, std::to_string(i + 1));
  }
  return svg(10 + step * static_cast<double>(p.devices.size()), content);
}

std::string arena_picture(const planned_device& d, const model_plan& p) {
  constexpr double height = 320;
  const auto& arena = d.arenas.front();
  const auto& g = d.memory.graph;
  const auto& order = arena.allowed.lanes.front();
  std::vector<std::size_t> position(g.steps.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    position[order[i]] = i;
  std::vector<std::size_t> from(g.buffers.size()), to(g.buffers.size());
  for (std::size_t s = 0; s < g.steps.size(); ++s)
    for (const auto b : g.steps[s].makes)
      from[b] = to[b] = position[s];
  for (std::size_t s = 0; s < g.steps.size(); ++s)
    for (const auto b : g.steps[s].reads)
      to[b] = std::max(to[b], position[s]);
  const auto x_unit = (width - label) / static_cast<double>(std::max<std::size_t>(1, order.size()));
  const auto y_unit = height / static_cast<double>(arena.layout.bytes);
  std::string content = text(0, 12, bytes(arena.layout.bytes)) + text(0, height, "0");
  for (std::size_t b = 0; b < g.buffers.size(); ++b) {
    if (arena.layout.offsets[b] == memory_plan::not_placed)
      continue;
    const auto size = static_cast<double>(g.buffers[b].bytes);
    const auto low = static_cast<double>(arena.layout.offsets[b]);
    const auto first = d.memory.steps[order[from[b]]];
    const auto when = first.what == placed_memory::step::kind::firing ? "" : " (arrives)";
    content += rect(label + x_unit * static_cast<double>(from[b]), height - y_unit * (low + size),
                    x_unit * static_cast<double>(to[b] - from[b] + 1), std::max(y_unit * size, 0.4),
                    colour((b + p.devices.size()) % 5),
                    d.memory.buffers[b] + when + ", " + bytes(g.buffers[b].bytes) + " at " +
                        bytes(arena.layout.offsets[b]) + ", steps " + std::to_string(from[b] + 1) + " to " +
                        std::to_string(to[b] + 1));
  }
  content += text(label, height + 14, "step 1") +
             text(width - 60, height + 14, "step " + std::to_string(order.size()));
  return svg(height + 20, content);
}

} // namespace sluice::tools
