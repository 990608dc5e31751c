#include <tools/model/picture.hpp>

#include <tools/exit_code.hpp>

#include <sluice/stream/file_bytes.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <spawn.h>
#include <sys/wait.h>

extern char** environ;

namespace sluice::tools {

namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const auto c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + '"';
}

/// A file that Graphviz reads from, removed with the object.
class temporary_file {
public:
  explicit temporary_file(std::string_view content) {
    auto name = (std::filesystem::temp_directory_path() / "sluice-graph-XXXXXX").string();
    const auto descriptor = mkstemp(name.data());
    if (descriptor < 0)
      throw error{errc::io_failed, std::string{"no temporary file can be made: "} + std::strerror(errno)};
    close(descriptor);
    path_ = name;
    write_file(path_, content);
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
  std::string path_;
};

} // namespace

std::string to_dot(const graph& g) {
  std::string text =
      "digraph " + quoted(g.name()) +
      " {\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#eef3fa\", fontname=Helvetica, "
      "fontsize=11];\n  edge [fontname=Helvetica, fontsize=9, color=\"#667788\"];\n";
  const auto arrow = [&](const std::string& from, const std::string& to, const value_type& type) {
    text += "  " + from + " -> " + to + " [label=" + quoted(to_string(type)) + "];\n";
  };
  for (const auto i : g.inputs())
    text += "  e" + std::to_string(i) +
            " [shape=ellipse, fillcolor=\"#e7f6e7\", label=" + quoted(g.at_edge(i).name) + "];\n";
  for (node_index i = 0; i < g.nodes().size(); ++i) {
    const auto& n = g.at(i);
    text += "  n" + std::to_string(i) + " [label=" + quoted(n.op) + ", tooltip=" + quoted(n.name) + "];\n";
    for (const auto e : n.inputs) {
      if (e == no_edge || g.at_edge(e).constant)
        continue;
      const auto& edge = g.at_edge(e);
      const auto from =
          edge.producer == no_node ? "e" + std::to_string(e) : "n" + std::to_string(edge.producer);
      arrow(from, "n" + std::to_string(i), edge.type);
    }
  }
  for (std::size_t i = 0; i < g.outputs().size(); ++i) {
    const auto& edge = g.at_edge(g.outputs()[i]);
    const auto place = "o" + std::to_string(i);
    text += "  " + place + " [shape=ellipse, fillcolor=\"#fbeee0\", label=" + quoted(g.output_names()[i]) +
            "];\n";
    if (edge.producer != no_node)
      arrow("n" + std::to_string(edge.producer), place, edge.type);
    else if (!edge.constant)
      arrow("e" + std::to_string(g.outputs()[i]), place, edge.type);
  }
  return text + "}\n";
}

void save_svg(const std::filesystem::path& file, const graph& g) {
  const temporary_file input{to_dot(g)};
  // Opened here first, so that an unwritable place is our own clear error.
  write_file(file, "");
  std::string arguments[] = {"dot", "-Tsvg",       "-Gnslimit=5", "-Gmclimit=0.3",
                             "-o",  file.string(), input.path()};
  std::vector<char*> argv;
  for (auto& a : arguments)
    argv.push_back(a.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const auto problem = posix_spawnp(&child, argv.front(), nullptr, nullptr, argv.data(), environ);
  if (problem != 0) {
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    throw command_error{exit_code::unsupported,
                        "a picture needs Graphviz's program 'dot', which cannot be started (" +
                            std::string{std::strerror(problem)} +
                            "): install the package graphviz, or write its input with --dot"};
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw command_error{exit_code::bad_file, "Graphviz could not draw '" + file.string() + "'"};
}

} // namespace sluice::tools
