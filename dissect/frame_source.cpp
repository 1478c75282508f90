// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/frame_source.h"

#include <fmt/format.h>

namespace lw::dissect {
namespace {

/// A bad filter is refused before anything is read: Ethernet is what captures mostly are.
Result<void> check_filter(const std::string& filter) {
  auto compiled = capture::Filter::compile(filter, capture::kLinkTypeEthernet);
  if (compiled) return {};
  return fail(compiled.error().message + display_filter_hint(filter));
}

}  // namespace

Result<FrameSource> FrameSource::open(const std::string& path, const std::string& filter) {
  if (auto checked = check_filter(filter); !checked) return std::unexpected(checked.error());
  auto reader = capture::Reader::open(path);
  if (!reader) return std::unexpected(reader.error());
  return FrameSource(std::move(*reader), path, filter);
}

Result<bool> FrameSource::passes(const capture::Record& record, int link_type) {
  if (filter_.empty()) return true;
  auto found = filters_.find(link_type);
  if (found == filters_.end()) {
    auto compiled = capture::Filter::compile(filter_, link_type);
    if (!compiled) return std::unexpected(compiled.error());
    found = filters_.emplace(link_type, std::move(*compiled)).first;
  }
  return found->second.matches(record.bytes, record.wire_length);
}

std::expected<std::optional<CapturedFrame>, Error> FrameSource::next() {
  for (;;) {
    const auto record = reader_.next();
    if (!record) return std::unexpected(record.error());
    if (!*record) return std::nullopt;
    ++number_;
    progress_->at((*record)->offset);
    const int link_type = reader_.interfaces()[(*record)->interface].link_type;
    const auto passed = passes(**record, link_type);
    if (!passed) return std::unexpected(passed.error());
    if (!*passed) continue;

    CapturedFrame frame{number_, **record, {}};
    if (const auto link = roce::link_of(link_type)) {
      frame.envelope = roce::open_envelope(frame.record.bytes, frame.record.wire_length, *link);
    } else {
      frame.envelope.bytes = frame.record.bytes;
      frame.envelope.wire_length = frame.record.wire_length;
      ++unopened_;
    }
    return frame;
  }
}

}  // namespace lw::dissect
