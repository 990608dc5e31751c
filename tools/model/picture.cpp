#include <tools/model/picture.hpp>

#include <tools/console.hpp>
#include <tools/exit_code.hpp>

#include <sluice/stream/file_bytes.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

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

/// What Graphviz makes of a file. What it says itself on standard error is dropped: our own sentence is all
/// that people get.
std::string drawn_by_graphviz(const std::string& input) {
  const temporary_file output{""};
  std::string arguments[] = {"dot", "-Tsvg", "-Gnslimit=5", "-Gmclimit=0.3", "-o", output.path(), input};
  std::vector<char*> argv;
  for (auto& a : arguments)
    argv.push_back(a.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const auto problem = posix_spawnp(&child, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0)
    throw command_error{exit_code::unsupported,
                        "a picture needs Graphviz's program 'dot', which cannot be started (" +
                            std::string{std::strerror(problem)} +
                            "): install the package graphviz, or write its input with --dot"};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw command_error{exit_code::failed, "Graphviz's program 'dot' could not draw the graph"};
  return read_file(output.path());
}

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
  const progress line{"drawing '" + file.string() + "'"};
  const temporary_file input{to_dot(g)};
  write_file(file, drawn_by_graphviz(input.path()));
}

} // namespace sluice::tools
