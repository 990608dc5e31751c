#include <tools/feeds/input_source.hpp>

#include <tools/exit_code.hpp>
#include <tools/feeds/numbers.hpp>
#include <tools/feeds/random_value.hpp>

#include <sluice/graph/onnx_tensor.hpp>
#include <sluice/graph/tensor.hpp>
#include <sluice/stream/csv_file.hpp>
#include <sluice/stream/image_file.hpp>
#include <sluice/stream/npy.hpp>
#include <sluice/stream/wav_file.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

namespace sluice::tools {

namespace {

using std::filesystem::path;

source_error usage(const std::string& sentence) {
  return {exit_code::usage, sentence};
}

std::string extension_of(const std::string& file) {
  auto e = path{file}.extension().string();
  std::transform(e.begin(), e.end(), e.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return e;
}

constexpr const char* see_help = " (sluice run --help lists what an input can be)";

bool one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool integer(element_type t) {
  using enum element_type;
  return t == uint8 || t == int8 || t == uint16 || t == int16 || t == int32 || t == int64 || t == uint32 ||
         t == uint64;
}

element_type element_type_in(const std::string& part, bool may_be_shape) try {
  return parse_element_type(part);
} catch (const error&) {
  throw usage("'" + part + "' is " + (may_be_shape ? "neither a shape such as 1x3x224x224 nor " : "not ") +
              "an element type such as float32");
}

/// random:1x3x224x224:float32:7, with every part behind the word optional.
value generated(const std::string& source, const value_type& wanted, const input_options& options) {
  auto parts = split(source, ':');
  const auto word = parts.front();
  auto part = parts.begin() + 1;
  auto s = wanted.is_tensor() ? default_shape(wanted.shape(), options.dims) : std::nullopt;
  if (part != parts.end() &&
      (*part == "scalar" || (std::isdigit(static_cast<unsigned char>(part->front())) &&
                             (part->find('x') != std::string::npos || parts.size() < 5)))) {
    s = parse_shape(*part++);
  }
  if (!s)
    throw usage("'" + source + "' needs a shape, as in " + word + ":1x3x224x224: the model declares none");
  auto type = wanted.is_tensor() ? wanted.element() : element_type::undefined;
  if (part != parts.end() && !std::isdigit(static_cast<unsigned char>(part->front())))
    type = element_type_in(*part++, part == parts.begin() + 1);
  if (type == element_type::undefined)
    type = element_type::float32;
  if (word != "random") {
    if (part != parts.end())
      throw usage("'" + source + "' has a part too many: '" + *part + "'");
    return filled_value(type, *s, word == "ones" ? 1 : 0);
  }
  auto seed = options.seed;
  if (part != parts.end())
    seed = static_cast<std::uint64_t>(parse_integer(*part++, "a seed"));
  if (part != parts.end())
    throw usage("'" + source + "' has a part too many: '" + *part + "'");
  return random_value(type, *s, seed);
}

/// True if a model wants the channels of pictures behind height and width: only the last extent is like a
/// count of channels.
bool wants_channels_last(const partial_shape& s) {
  const auto few = [](const dim& d) { return d.known() && d.extent() <= 4; };
  return s.has_rank() && s.rank() >= 3 && few(s[s.rank() - 1]) && !few(s[s.rank() - 3]);
}

/// The shape in which a model wants a picture, where extents that it leaves open are those of the picture.
shape picture_shape(const path& file, const partial_shape& wanted) {
  const auto size = size_of_image(file);
  const auto channels = size.channels == 2 ? 1 : size.channels; // grey with alpha
  if (!wanted.has_rank())
    return {1, channels, size.height, size.width};
  const auto native = wants_channels_last(wanted) ? std::array{size.height, size.width, channels}
                                                  : std::array{channels, size.height, size.width};
  std::vector<std::int64_t> dims;
  for (std::size_t axis = 0; axis < wanted.rank(); ++axis) {
    const auto from_end = wanted.rank() - axis; // 1 is the last axis
    const auto own = from_end <= native.size() ? native[native.size() - from_end] : 1;
    dims.push_back(wanted[axis].known() ? wanted[axis].extent() : own);
  }
  return shape{dims};
}

/// A matrix that is open in one direction only holds rows, not a grey picture.
bool holds_rows(const partial_shape& s) {
  return s.has_rank() && s.rank() == 2 && s[0].known() != s[1].known();
}

void check_channels(const std::vector<float>& numbers, const char* option, const shape& s, bool last) {
  const auto channels = s.rank() < 3 ? 1 : s[last ? s.rank() - 1 : s.rank() - 3];
  if (numbers.size() > 1 && numbers.size() != static_cast<std::size_t>(channels))
    throw usage(std::string{option} + " has " + std::to_string(numbers.size()) +
                " numbers, but the picture has " + std::to_string(channels) +
                (channels == 1 ? " channel" : " channels"));
}

value picture(const path& file, const value_type& wanted, const input_options& options) {
  const auto whole = wanted.is_tensor() && integer(wanted.element());
  const auto declared = wanted.is_tensor() ? bound(wanted.shape(), options.dims) : partial_shape{};
  if (holds_rows(declared))
    throw usage("'" + file.string() + "' is a picture, which " + to_string(wanted) + " has no room for");
  const auto s = picture_shape(file, declared);
  check_channels(options.mean, "--mean", s, wants_channels_last(declared));
  check_channels(options.deviation, "--deviation", s, wants_channels_last(declared));
  const auto v =
      load_image(file, s,
                 {.scale = options.scale.value_or(whole ? 1.0f : 1.0f / 255.0f),
                  .mean = options.mean,
                  .deviation = options.deviation,
                  .channels = wants_channels_last(declared) ? channel_axis::last : channel_axis::first});
  if (!whole)
    return v;
  auto rounded = tensor::make(element_type::float32, v.tensor().shape());
  const auto samples = v.tensor().data<float>();
  std::transform(samples.begin(), samples.end(), rounded->data<float>().begin(),
                 [](float x) { return std::round(x); });
  return rounded;
}

value archived(const std::string& source) {
  const auto colon = source.rfind(':');
  if (colon != std::string::npos && extension_of(source.substr(0, colon)) == ".npz")
    return load_npz(source.substr(0, colon), source.substr(colon + 1));
  const auto all = load_npz(source);
  if (all.size() != 1)
    throw usage("'" + source + "' holds " + std::to_string(all.size()) +
                " arrays: say which, as in NAME=FILE.npz:KEY, or give the file without a name");
  return all.begin()->second;
}

value from_file(const std::string& source, const value_type& wanted, const input_options& options) {
  const auto extension = extension_of(source);
  if (extension == ".npy")
    return load_npy(source);
  if (extension == ".npz" || extension_of(source.substr(0, source.rfind(':'))) == ".npz")
    return archived(source);
  if (extension == ".pb")
    return read_onnx_value(source, wanted.kind().value_or(value_kind::tensor));
  if (extension == ".csv" || extension == ".tsv")
    return fitted(load_csv(source, extension == ".tsv" ? '\t' : ',').data, wanted);
  if (one_of(extension, {".wav", ".flac", ".ogg", ".aiff", ".aif", ".au"}))
    return fitted(load_sound(source, {.rate = options.rate}).samples, wanted);
  if (one_of(extension, {".pcm", ".raw"}))
    return fitted(load_pcm16(source), wanted);
  if (one_of(extension, {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tga", ".ppm", ".pgm", ".pnm"}))
    return fitted(picture(source, wanted, options), wanted);
  if (std::filesystem::exists(source))
    throw source_error{exit_code::bad_file, "'" + source + "' is a file of an unknown kind" + see_help};
  throw usage("'" + source + "' is neither a file nor anything else that gives a value" + see_help);
}

bool names_generator(const std::string& source) {
  const auto word = source.substr(0, source.find(':'));
  return word == "random" || word == "zeros" || word == "ones";
}

} // namespace

const char* source_help() noexcept {
  return "  an array     .npy, .npz[:KEY], .pb (an ONNX tensor)\n"
         "  a table      .csv, .tsv\n"
         "  a sound      .wav, .flac, .ogg, .aiff, .au; .pcm, .raw (16 bit)\n"
         "  a picture    .png, .jpg, .bmp, .gif, .tga, .ppm, .pgm, .pnm\n"
         "  made up      random[:SHAPE[:TYPE[:SEED]]], zeros[:SHAPE[:TYPE]],\n"
         "               ones[:SHAPE[:TYPE]], SHAPE as 1x3x224x224, TYPE as float32\n"
         "  typed        1,2.5 or true,false or text:WORDS";
}

value load_source(const std::string& source, const value_type& wanted, const input_options& options) {
  auto in_file = false;
  try {
    if (source.empty())
      throw usage("its source is empty");
    if (names_generator(source))
      return generated(source, wanted, options);
    if (source.starts_with("text:"))
      return fitted(tensor::of<std::string>({}, {source.substr(5)}), wanted);
    if (auto numbers = parse_numbers(source))
      return fitted(*numbers, wanted);
    in_file = std::filesystem::exists(source) || std::filesystem::exists(source.substr(0, source.rfind(':')));
    return from_file(source, wanted, options);
  } catch (const error& e) {
    throw source_error{in_file && exit_code_of(e.code()) == exit_code::usage ? exit_code::bad_file
                                                                             : exit_code_of(e.code()),
                       e.what()};
  }
}

} // namespace sluice::tools
