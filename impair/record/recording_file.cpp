// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/recording_file.h"

#include <fmt/format.h>

namespace lw::impair {

Result<void> RecordingFile::check_name(const std::string& path) {
  if (capture::format_for(path) == capture::Format::pcapng) return {};
  return fail(
      fmt::format("{}: a capture with four interfaces and comments is a pcapng file: "
                  "name it FILE.pcapng",
                  path));
}

Result<std::unique_ptr<RecordingFile>> RecordingFile::create(const std::string& path,
                                                             RuleNames rules,
                                                             std::int64_t clock_offset_ns,
                                                             int link_type) {
  if (auto named = check_name(path); !named) return std::unexpected(named.error());
  std::vector<capture::Interface> interfaces;
  for (const std::string_view name : kInterfaceNames)
    interfaces.push_back({.link_type = link_type, .name = std::string(name)});
  auto writer = capture::Writer::create(path, capture::Format::pcapng, std::move(interfaces));
  if (!writer) return std::unexpected(writer.error());
  return std::unique_ptr<RecordingFile>(
      new RecordingFile(std::move(*writer), std::move(rules), clock_offset_ns));
}

void RecordingFile::learn(RuleNames rules) {
  const std::lock_guard lock(names_);
  rules_ = std::move(rules);
}

void RecordingFile::write(const Sighting& sighting, std::span<const std::byte> bytes) {
  if (failure_) return;
  std::string comment;
  {
    const std::lock_guard lock(names_);
    comment = comment_of(sighting.record, rules_);
  }
  const std::uint32_t interface = interface_of(sighting.record.direction, sighting.out);
  last_ = sighting.at + Duration{clock_offset_ns_};
  const auto written = writer_.write(last_, bytes, sighting.wire_length, interface, comment);
  if (!written) failure_ = written.error();
  ++written_[interface];
  ++frames_;
}

Result<void> RecordingFile::close(const std::array<std::uint64_t, kRecordedInterfaces>& skipped) {
  if (failure_) return std::unexpected(*failure_);
  for (std::uint32_t i = 0; i < kRecordedInterfaces; ++i)
    writer_.write_statistics(i, last_, written_[i] + skipped[i], skipped[i]);
  return writer_.close();
}

}  // namespace lw::impair
