// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/extract/extract_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/quantity.h"
#include "dissect/extract/row_figures.h"
#include "dissect/sessions/result_rows.h"
#include "report/figures/json.h"
#include "report/table.h"

namespace lw::dissect {
namespace {

using analysis::DataImage;
using analysis::DataKind;
using analysis::Range;
using report::Json;

std::string address_hex(std::uint64_t va) { return fmt::format("{:#x}", va); }
std::string key_hex(std::uint32_t key) { return fmt::format("{:#010x}", key); }

/// The host and address of memory.
PlaceColumns place_at(const DataImage& image, std::uint64_t position) {
  if (image.kind != DataKind::memory) return {};
  return {address_text(image.host), key_hex(image.r_key), address_hex(position)};
}

/// Calls visit(first, last, part) for the parts of `ranges` inside a file.
template <class Visit>
void for_each_inside(const analysis::Ranges& ranges, const DataFile& file, Visit visit) {
  auto at = ranges.parts().upper_bound(file.first);
  if (at != ranges.parts().begin()) --at;
  for (; at != ranges.parts().end() && at->first <= file.last; ++at) {
    const std::uint64_t first = std::max(at->first, file.first);
    const std::uint64_t last = std::min(at->second.last, file.last);
    if (first <= last) visit(first, last, at->second);
  }
}

const char* arrow_of(std::uint8_t direction) { return direction == 0 ? "->" : "<-"; }

std::string frames_text(std::uint64_t first, std::uint64_t last) {
  return first == last ? fmt::format("frame {}", first)
                       : fmt::format("frames {} to {}", first, last);
}

}  // namespace

ExtractReport::ExtractReport(const analysis::Extractor& extractor,
                             const std::vector<DataFile>& files,
                             const std::vector<CapturePointInfo>& points)
    : extractor_(extractor), files_(files), points_(points) {
  const auto& images = extractor.images();
  for (std::uint32_t image = 0; image < images.size(); ++image)
    for (const Range& gap : images[image].written.missing_of(images[image].expected))
      gaps_.push_back({image, file_at(image, gap.first), gap});
}

const DataFile* ExtractReport::file_at(std::uint32_t image, std::uint64_t position) const {
  // The files are in the order of images and positions. A gap may be after the last byte of a file,
  // or before its first.
  const auto before = [](const DataFile& file, const auto& place) {
    return std::pair(file.image, file.first) <= place;
  };
  const auto behind =
      std::lower_bound(files_.begin(), files_.end(), std::pair(image, position), before);
  if (behind != files_.begin() && std::prev(behind)->image == image) return &*std::prev(behind);
  return behind != files_.end() && behind->image == image ? &*behind : nullptr;
}

void ExtractReport::files(const std::function<void(const Json&)>& write_row) const {
  struct Sum {
    std::uint64_t bytes = 0, ranges = 0;
  };
  std::map<const DataFile*, Sum> missing;
  for (const Gap& gap : gaps_) {
    missing[gap.file].bytes += gap.range.length();
    ++missing[gap.file].ranges;
  }
  for (const DataFile& file : files_) {
    const DataImage& image = extractor_.images()[file.image];
    Sum written;
    for_each_inside(image.written, file,
                    [&](std::uint64_t first, std::uint64_t last, const analysis::Ranges::Part&) {
                      written.bytes += last - first + 1;
                      ++written.ranges;
                    });
    ExtractedFile row{
        .file = file.name,
        .kind = image.kind,
        .point = image.point < points_.size() ? points_[image.point].name : "",
        .decided_by = image.point < points_.size() ? points_[image.point].by : PointBy::one_tap,
        .session = image.session,
        .direction = image.direction,
        .sessions = {image.session},
        .place = place_at(image, file.first),
        .length = file.last - file.first + 1,
        .written_bytes = written.bytes,
        .ranges = written.ranges,
        .missing_bytes = missing[&file].bytes,
        .gaps = missing[&file].ranges,
        .messages = image.messages,
        .packets = image.packets,
        .repeated_packets = image.repeated};
    if (image.kind == DataKind::memory)
      row.sessions.assign(image.sessions.begin(), image.sessions.end());
    write_row(report::json_of(row));
  }
}

void ExtractReport::ranges(const std::function<void(const Json&)>& write_row) const {
  for (const DataFile& file : files_) {
    const DataImage& image = extractor_.images()[file.image];
    const auto take_range = [&](std::uint64_t first, std::uint64_t last,
                                const analysis::Ranges::Part& part) {
      write_row(report::json_of(ExtractedRange{.file = file.name,
                                               .offset = first - file.first,
                                               .place = place_at(image, first),
                                               .bytes = last - first + 1,
                                               .first_frame = part.first_frame,
                                               .last_frame = part.last_frame,
                                               .packets = part.additions}));
    };
    for_each_inside(image.written, file, take_range);
  }
}

void ExtractReport::gaps(const std::function<void(const Json&)>& write_row) const {
  for (const Gap& gap : gaps_) {
    const DataImage& image = extractor_.images()[gap.image];
    const bool has_offset = gap.file != nullptr && gap.range.first >= gap.file->first;
    ExtractedGap row{.kind = image.kind,
                     .session = image.session,
                     .direction = image.direction,
                     .place = place_at(image, gap.range.first),
                     .bytes = gap.range.length()};
    if (gap.file != nullptr) row.file = gap.file->name;
    if (has_offset) row.offset = gap.range.first - gap.file->first;
    write_row(report::json_of(row));
  }
}

void ExtractReport::unplaced(const std::function<void(const Json&)>& write_row) const {
  for (const auto& [key, left] : extractor_.leftovers()) {
    const auto& [session, direction] = key;
    for (std::size_t reason = 0; reason < analysis::kUnplacedReasons; ++reason) {
      const analysis::UnplacedPackets& some = left.unplaced[reason];
      if (some.packets == 0) continue;
      write_row(report::json_of(
          UnplacedRow{.session = session,
                      .direction = direction,
                      .reason = analysis::name_of(static_cast<analysis::Unplaced>(reason)),
                      .packets = some.packets,
                      .bytes = some.bytes,
                      .first_frame = some.first_frame,
                      .last_frame = some.last_frame}));
    }
    for (const auto& [first, part] : left.missing.parts())
      write_row(report::json_of(UnplacedRow{.session = session,
                                            .direction = direction,
                                            .reason = "not_captured",
                                            .packets = part.last - first + 1,
                                            .first_psn = first & wire::Psn::kMask}));
  }
}

std::string ExtractReport::files_text(const std::string& folder) const {
  using report::Align;
  report::TextTable table({{"file"},
                           {"connection", Align::right},
                           {""},
                           {"bytes", Align::right},
                           {"ranges", Align::right},
                           {"missing", Align::right},
                           {"messages", Align::right},
                           {"packets", Align::right},
                           {"repeated", Align::right}});
  std::uint64_t bytes = 0;
  files([&](const Json& row) {
    const auto number = [&](const char* key) {
      return fmt::format("{}", row[key].get<std::uint64_t>());
    };
    bytes += row["written_bytes"].get<std::uint64_t>();
    std::string connections;
    for (const Json& each : row["connections"])
      connections += fmt::format("{}{}", connections.empty() ? "" : ",", each.get<std::uint64_t>());
    const bool stream = row["kind"] != "memory";
    table.add_row({row["file"].get<std::string>(), connections,
                   stream ? arrow_of(row["direction"].get<std::uint8_t>()) : "",
                   number("written_bytes"), number("ranges"), number("missing_bytes"),
                   number("messages"), number("packets"), number("repeated_packets")});
  });
  if (table.empty()) return folder + ": no data\n";
  return fmt::format("{}: {} with {} of data\n\n{}", folder, counted(files_.size(), "file"),
                     format_bytes(static_cast<double>(bytes)), table.to_string());
}

std::string ExtractReport::gaps_text() const {
  constexpr std::size_t kListed = 20;
  if (gaps_.empty()) return {};
  std::string text = "\nMissing in the capture, and holes in the files:\n";
  for (std::size_t i = 0; i < std::min(gaps_.size(), kListed); ++i) {
    const Gap& gap = gaps_[i];
    const DataImage& image = extractor_.images()[gap.image];
    text += fmt::format("  {}: ", gap.file != nullptr
                                      ? gap.file->name
                                      : fmt::format("{} rkey {:#x}, no file",
                                                    address_text(image.host), image.r_key));
    if (image.kind == DataKind::memory) text += fmt::format("va {:#x}, ", gap.range.first);
    if (gap.file != nullptr && gap.range.first >= gap.file->first)
      text += fmt::format("offset {}, ", gap.range.first - gap.file->first);
    text += counted(gap.range.length(), "byte") + "\n";
  }
  if (gaps_.size() > kListed)
    text += fmt::format("  and {} more: map.jsonl has all\n", gaps_.size() - kListed);
  return text;
}

std::string ExtractReport::unplaced_text() const {
  std::string text;
  for (const auto& [key, left] : extractor_.leftovers()) {
    const std::string name = fmt::format("  connection {} {}  ", key.first, arrow_of(key.second));
    for (std::size_t reason = 0; reason < analysis::kUnplacedReasons; ++reason) {
      const analysis::UnplacedPackets& some = left.unplaced[reason];
      if (some.packets == 0) continue;
      text +=
          fmt::format("{}{}, {}, {}: {}\n", name, counted(some.packets, "packet"),
                      counted(some.bytes, "byte"), frames_text(some.first_frame, some.last_frame),
                      analysis::help_of(static_cast<analysis::Unplaced>(reason)));
    }
    if (!left.missing.empty())
      text += fmt::format("{}{} from PSN {} on: not captured; what they carried is not known\n",
                          name, counted(left.missing.count(), "request packet"),
                          left.missing.parts().begin()->first & wire::Psn::kMask);
  }
  return text.empty() ? text : "\nNot in the files:\n" + text;
}

std::string ExtractReport::text(const std::string& folder) const {
  return files_text(folder) + gaps_text() + unplaced_text();
}

Json extracted_message_row(const analysis::DataMessage& message, const DataImage& image) {
  const bool memory = image.kind == DataKind::memory;
  ExtractedMessage row{.message = message, .kind = image.kind};
  if (memory) row.place.host = address_text(image.host);
  if (!memory) row.offset = message.position;
  if (message.has_address) {
    row.place.r_key = key_hex(message.r_key);
    row.place.va = address_hex(message.va);
  }
  if (message.has_immediate) row.immediate = key_hex(message.immediate);
  return report::json_of(row);
}

}  // namespace lw::dissect
