#include <sluice/graph/onnx/wire.hpp>

#include <sluice/graph/error.hpp>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include <limits>
#include <string>

namespace sluice::proto {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

// Messages nest three deep for every subgraph; protobuf's own parser refuses at the same depth.
constexpr int max_depth = 100;

[[noreturn]] void malformed(const std::string& why) {
  throw error{errc::invalid_model, "not a well-formed ONNX file: " + why};
}

/// Walks the encoded message without building it. An empty message takes two bytes in the file and some
/// hundreds in memory, so their number is bounded first.
class scanner {
public:
  scanner(std::span<const std::byte> bytes, std::size_t max_objects)
    : stream_(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size())),
      max_objects_(max_objects) {}

  void scan(const Descriptor& type, int depth) {
    while (const auto tag = stream_.ReadTag())
      field(type, tag, depth);
    if (!stream_.ConsumedEntireMessage())
      malformed("it is cut off or damaged at byte " + std::to_string(stream_.CurrentPosition()));
  }

private:
  void field(const Descriptor& type, std::uint32_t tag, int depth) {
    std::uint64_t ignored = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
    case WireFormatLite::WIRETYPE_VARINT:
      return expect(stream_.ReadVarint64(&ignored));
    case WireFormatLite::WIRETYPE_FIXED64:
      return expect(stream_.Skip(8));
    case WireFormatLite::WIRETYPE_FIXED32:
      return expect(stream_.Skip(4));
    case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
      return content(type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag)), depth);
    default:
      malformed("field of unknown encoding at byte " + std::to_string(stream_.CurrentPosition()));
    }
  }

  void content(const FieldDescriptor* field, int depth) {
    int length = 0;
    expect(stream_.ReadVarintSizeAsInt(&length));
    if (length > stream_.BytesUntilLimit() && stream_.BytesUntilLimit() >= 0)
      malformed("a part at byte " + std::to_string(stream_.CurrentPosition()) +
                " is longer than what holds it");
    if (++objects_ > max_objects_)
      throw error{errc::unsupported, "it has more than " + std::to_string(max_objects_) + " parts"};
    if (!field || field->type() != FieldDescriptor::TYPE_MESSAGE)
      return expect(stream_.Skip(length));
    if (depth >= max_depth)
      throw error{errc::unsupported, "it is nested deeper than " + std::to_string(max_depth) +
                                         " messages, in a " + field->message_type()->name()};
    const auto outer = stream_.PushLimit(length);
    scan(*field->message_type(), depth + 1);
    stream_.PopLimit(outer);
  }

  void expect(bool read) {
    if (!read)
      malformed("it is cut off at byte " + std::to_string(stream_.CurrentPosition()));
  }

  google::protobuf::io::CodedInputStream stream_;
  const std::size_t max_objects_;
  std::size_t objects_ = 0;
};

} // namespace

void parse(std::span<const std::byte> bytes, google::protobuf::Message& message, const wire_limits& limits) {
  constexpr auto protobuf_limit = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (bytes.size() > std::min(limits.max_bytes, protobuf_limit))
    throw error{errc::unsupported, "it has " + std::to_string(bytes.size()) +
                                       " bytes, more than the limit of " +
                                       std::to_string(std::min(limits.max_bytes, protobuf_limit))};
  if (bytes.empty())
    malformed("it is empty");
  scanner{bytes, limits.max_objects}.scan(*message.GetDescriptor(), 0);
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    malformed("its " + message.GetDescriptor()->name() + " cannot be read");
}

} // namespace sluice::proto
