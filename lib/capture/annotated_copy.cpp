// SPDX-License-Identifier: BSD-3-Clause
#include "capture/annotated_copy.h"

#include <algorithm>
#include <vector>

#include "capture/blocks.h"
#include "capture/limits.h"
#include "capture/pcapng_block.h"
#include "capture/reader.h"

namespace lw::capture {
namespace {

constexpr std::size_t kSectionOptions = 16, kSectionLength = 8;  // offsets in a section's body

template <class T>
void put(std::string& out, T value, bool swap) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  const T stored = load<T>(bytes, 0, swap);
  out.append(reinterpret_cast<const char*>(&stored), sizeof stored);
}

void put_bytes(std::string& out, Bytes bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// The first bytes of a text, at most `most`, without half a character of UTF-8.
std::string_view start_of(std::string_view text, std::size_t most) noexcept {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

using Texts = std::vector<std::string_view>;

/// Appends a block whose options begin at `options` of its body, with comments behind them.
void put_with_comments(std::string& out, const PcapngBlock& block, std::size_t options, bool swap,
                       const Texts& comments) {
  options = std::min(options, block.body.size());
  const std::size_t end =
      options + for_each_option(block.body.subspan(options), swap, [](std::uint16_t, Bytes) {});
  std::string added;
  for (const std::string_view comment : comments) {
    put(added, kOptionComment, swap);
    put(added, static_cast<std::uint16_t>(comment.size()), swap);
    added.append(comment).append(in_words(comment.size()) - comment.size(), '\0');
  }
  const Bytes rest = block.body.subspan(end);  // the end mark, or what is damaged
  if (rest.size() < 4) put(added, std::uint32_t{0}, swap);
  const auto size = static_cast<std::uint32_t>(block.size + added.size());
  put(out, block.type, swap);
  put(out, size, swap);
  put_bytes(out, block.body.first(end));
  out.append(added);
  put_bytes(out, rest);
  put(out, size, swap);
}

/// Hands out the comments frame by frame, and counts.
class Comments {
 public:
  explicit Comments(std::span<const FrameComment> all) : left_(all) {}

  /// The comments of the next frame. `holds`: its block has room for them.
  const Texts& of_next_frame(bool holds) {
    ++copied_.frames;
    texts_.clear();
    for (; !left_.empty() && left_[0].frame <= copied_.frames; left_ = left_.subspan(1))
      if (left_[0].frame == copied_.frames) add_comment(left_[0], holds);
    if (!texts_.empty()) ++copied_.commented;
    return texts_;
  }
  AnnotatedCopy& copied() noexcept { return copied_; }

 private:
  void add_comment(const FrameComment& comment, bool holds) {
    if (!holds)
      ++copied_.unholdable;
    else if (texts_.size() == kMostComments)
      ++copied_.beyond;
    else
      texts_.push_back(start_of(comment.text, kLongestComment));
  }

  std::span<const FrameComment> left_;
  Texts texts_;
  AnnotatedCopy copied_;
};

void put_section(std::string& out, const PcapngBlock& block, bool swap, std::string_view summary) {
  std::string body(reinterpret_cast<const char*>(block.body.data()), block.body.size());
  body.replace(kSectionLength, 8, 8, '\xff');
  const PcapngBlock section{
      .type = block.type, .body = std::as_bytes(std::span(body)), .size = block.size};
  put_with_comments(out, section, kSectionOptions, swap,
                    summary.empty() ? Texts{} : Texts{start_of(summary, kMostOption)});
}

/// Offset of the options of a block with a packet.
std::size_t packet_options(const PcapngBlock& block, bool swap) noexcept {
  return kPacketData + in_words(load<std::uint32_t>(block.body, 12, swap));
}

/// Copies the blocks of a pcapng file.
void copy_blocks(Source& source, std::string_view summary, Comments& comments, OutputFile& out) {
  bool swap = false;
  for (;;) {
    PcapngBlock block;
    const auto found = peek_block(source, swap, block);
    if (!found) comments.copied().damage = found.error();
    if (!found || !*found) return;
    const bool holds = block.type != kSimplePacketBlock;
    const Texts* const texts = holds_packet(block.type) ? &comments.of_next_frame(holds) : nullptr;
    if (block.type == kSectionHeaderBlock) {
      put_section(out.pending(), block, swap, summary);
      summary = {};
    } else if (texts != nullptr && !texts->empty()) {
      put_with_comments(out.pending(), block, packet_options(block, swap), swap, *texts);
    } else {
      put_bytes(out.pending(), source.peek(block.size).first(block.size));
    }
    out.end_record();
    source.skip(block.size);
  }
}

/// Appends `block`, as this machine writes one, with comments.
void put_own_block(std::string& out, std::string_view block, std::size_t options,
                   const Texts& comments) {
  const Bytes bytes = std::as_bytes(std::span(block));
  put_with_comments(out,
                    {.type = load<std::uint32_t>(bytes, 0, false),
                     .body = bytes.subspan(8, bytes.size() - kBlockOverhead),
                     .size = bytes.size()},
                    options, false, comments);
}

void put_pcap_frame(std::string& out, const Record& record, const Texts& comments) {
  const FrameHead head{.ns = to_ns(record.stamp),
                       .captured = static_cast<std::uint32_t>(record.bytes.size()),
                       .wire_length = record.wire_length};
  std::string block;
  put_pcapng_head(block, head, {});
  put_bytes(block, record.bytes);
  put_pcapng_end(block, head, {});
  if (comments.empty())
    out.append(block);
  else
    put_own_block(out, block, kPacketData + in_words(head.captured), comments);
}

/// The start of the copy of a pcap file: its section, with the summary, and its interface.
std::string start_of_copy(const std::vector<Interface>& interfaces, std::string_view summary) {
  std::string section, start;
  put_pcapng_start(section, {});
  put_own_block(start, section, kSectionOptions, {start_of(summary, kMostOption)});
  std::string all;
  put_pcapng_start(all, interfaces);
  return start + all.substr(section.size());
}

Result<void> copy_pcap(Source& source, std::string_view summary, Comments& comments,
                       OutputFile& out) {
  std::vector<Interface> interfaces;
  const auto format = PcapFormat::open(source, interfaces);
  if (!format) return std::unexpected(format.error());
  out.write(start_of_copy(interfaces, summary));
  for (;;) {
    Record record;
    const auto found = format->read(source, record);
    if (!found) comments.copied().damage = found.error();
    if (!found || !*found) return {};
    put_pcap_frame(out.pending(), record, comments.of_next_frame(true));
    out.end_record();
  }
}

}  // namespace

Result<AnnotatedCopy> copy_with_comments(const std::string& path, std::string_view summary,
                                         std::span<const FrameComment> comments, OutputFile& out) {
  auto source = Source::open(path);
  if (!source) return std::unexpected(source.error());
  Comments of_frames(comments);
  if (PcapngFormat::recognises(source->peek(4)))
    copy_blocks(*source, summary, of_frames, out);
  else if (auto copied = copy_pcap(*source, summary, of_frames, out); !copied)
    return std::unexpected(copied.error());
  return std::move(of_frames.copied());
}

}  // namespace lw::capture
