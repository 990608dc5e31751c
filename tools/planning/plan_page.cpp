#include <tools/planning/plan_files.hpp>

#include <tools/planning/figures.hpp>
#include <tools/planning/page_parts.hpp>

#include <algorithm>
#include <numeric>

namespace sluice::tools {

namespace {

constexpr std::string_view style = R"(<style>
:root{color-scheme:light dark}
body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1100px;padding:0 1em}
h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}
table{border-collapse:collapse}td,th{padding:.15em .8em .15em 0;text-align:left;vertical-align:top}
th{border-bottom:1px solid #888;font-weight:600}.n{text-align:right;font-variant-numeric:tabular-nums}
svg{width:100%;height:auto;display:block}svg text{font:11px system-ui,sans-serif;fill:currentColor}
.scroll{overflow-x:auto}.d0{fill:#4c78a8}.d1{fill:#e4793f}.d2{fill:#54a24b}.d3{fill:#b279a2}.d4{fill:#9d755d}
.w{fill:#999}.edge{stroke:currentColor;fill:none}rect:hover{opacity:.6}
</style>
)";

/// A table; heads that begin with '>' are of numbers.
class html_table {
public:
  explicit html_table(const std::vector<std::string>& heads) {
    text_ = "<div class=scroll><table><tr>";
    for (const auto& h : heads) {
      numbers_.push_back(h.starts_with('>'));
      text_ += (numbers_.back() ? "<th class=n>" : "<th>") + escaped(h.substr(numbers_.back() ? 1 : 0));
    }
    text_ += "</tr>\n";
  }
  void row(const std::vector<std::string>& cells) {
    text_ += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i)
      text_ += (numbers_[i] ? "<td class=n>" : "<td>") + escaped(cells[i]);
    text_ += "</tr>\n";
  }
  [[nodiscard]] std::string text() const { return text_ + "</table></div>\n"; }

private:
  std::string text_;
  std::vector<bool> numbers_;
};

std::string devices_table(const model_plan& p) {
  html_table t{{"device", ">budget", "from", ">peak", ">weights", ">steps", ">busy ms"}};
  for (const auto& d : p.devices)
    t.row({d.device.name, bytes(d.device.budget), d.budget_from, bytes(d.peak_bytes),
           bytes(d.memory.weight_bytes), std::to_string(d.steps), ms(d.busy_ns)});
  return t.text();
}

std::string parts_table(const model_plan& p) {
  html_table t{
      {"part", "device", ">steps", "from", "to", ">start ms", ">finish ms", ">arrives", ">made", ">weights"}};
  for (std::size_t i = 0; i < p.parts.size(); ++i) {
    const auto& part = p.parts[i];
    t.row({std::to_string(i + 1), p.devices[part.device].device.name, std::to_string(part.steps.size()),
           p.problem().steps[part.steps.front()].name, p.problem().steps[part.steps.back()].name,
           ms(part.start_ns), ms(part.finish_ns), bytes(part.arriving_bytes), bytes(part.made_bytes),
           bytes(part.weight_bytes)});
  }
  return t.text();
}

std::string transfers_table(const model_plan& p) {
  html_table t{{"value", "from", "to", ">bytes", ">start ms", ">takes ms"}};
  for (const auto& sent : p.placed.made.schedule.transfers) {
    const auto& link = p.problem().links[sent.link];
    t.row({p.problem().values[sent.value].name, p.devices[link.from].device.name,
           p.devices[link.to].device.name, bytes(p.problem().values[sent.value].bytes), ms(sent.start_ns),
           ms(sent.finish_ns - sent.start_ns)});
  }
  return t.text();
}

std::string memory_table(const model_plan& p) {
  html_table t{{"device", "steps at once", ">arena", ">least possible", ">in place", ">ms"}};
  for (const auto& d : p.devices)
    for (const auto& a : d.arenas)
      t.row({d.device.name, a.order, bytes(a.layout.bytes), bytes(a.layout.least_bytes),
             std::to_string(a.in_place), a.ns > 0 ? ms(a.ns) : ""});
  return t.text();
}

/// The largest values and weights.
std::string tensors_table(const model_plan& p) {
  constexpr std::size_t shown = 25;
  struct entry {
    std::string name;
    std::string what;
    std::size_t bytes;
  };
  std::vector<entry> all;
  for (const auto& v : p.problem().values)
    all.push_back({v.name, v.fed_on ? "input" : v.result_on ? "result" : "value", v.bytes});
  for (const auto& c : p.problem().constants)
    all.push_back({c.name, "weight", c.bytes});
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  all.resize(std::min(all.size(), shown));
  html_table t{{"tensor", "is", ">bytes"}};
  for (const auto& e : all)
    t.row({e.name, e.what, bytes(e.bytes)});
  return t.text();
}

std::string decisions_table(const model_plan& p) {
  html_table t{{"node", "decision"}};
  const auto& nodes = p.model.graph->nodes();
  for (node_index n = 0; n < nodes.size(); ++n) {
    const auto text = p.placed.explain(*p.plan, n);
    t.row({nodes[n].name, text.substr(std::min(text.size(), nodes[n].name.size() + 2))});
  }
  return t.text();
}

} // namespace

std::string plan_page(const std::string& model, const model_plan& p) {
  std::string page = "<!doctype html>\n<html lang=en><meta charset=utf-8><title>Plan of " + escaped(model) +
                     "</title>\n" + std::string{style};
  page += "<h1>Plan of " + escaped(model) + "</h1>\n<p>" + std::to_string(p.problem().steps.size()) +
          " steps; estimated to finish in " + ms(p.placed.made.schedule.finish_ns) + " ms";
  if (p.devices.size() > 1)
    page += p.host_only_ns ? ", on cpu:0 alone in " + ms(*p.host_only_ns) + " ms"
                           : ", on cpu:0 alone it does not fit";
  page += ".</p>\n" + devices_table(p);
  page += "<h2>Time</h2>\n" + timeline_picture(p);
  page += "<h2>Parts</h2>\n" + parts_picture(p) + parts_table(p);
  if (!p.placed.made.schedule.transfers.empty())
    page += "<h2>Transfers</h2>\n" + transfers_table(p);
  page += "<h2>Memory of one run, besides weights, feeds and results</h2>\n" + memory_table(p);
  for (const auto& d : p.devices)
    if (!d.arenas.empty() && d.arenas.front().layout.bytes > 0)
      page +=
          "<h2>The arena of " + escaped(d.device.name) + ", steps one at a time</h2>\n" + arena_picture(d, p);
  page += "<h2>The largest tensors</h2>\n" + tensors_table(p);
  page += "<h2>Decisions</h2>\n" + decisions_table(p);
  return page + "</html>\n";
}

} // namespace sluice::tools
