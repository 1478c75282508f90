// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/changes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "dissect/fields/frame_source.h"

namespace lw::dissect {
namespace {

/// A frame's fields and payload, kept while the other capture is read.
struct KeptFrame {
  FieldTexts fields;
  std::vector<std::byte> payload;
};
constexpr std::size_t kMostPayload = 16384;             // bytes of a payload that are kept
using KeptFrames = std::map<std::uint32_t, KeptFrame>;  // by number

KeptFrame kept(const CapturedFrame& captured) {
  KeptFrame result;
  result.fields = header_texts(captured);
  const auto frame = roce::parse(captured.envelope);
  if (!frame) return result;
  const auto payload = frame->payload.first(std::min(frame->payload.size(), kMostPayload));
  result.payload.assign(payload.begin(), payload.end());
  return result;
}

/// Reads a capture up to the last frame of `numbers`, and keeps these frames.
Result<KeptFrames> read_frames(const std::string& place, const std::string& filter,
                               const FrameReading& reading,
                               const std::set<std::uint32_t>& numbers) {
  KeptFrames frames;
  auto source = FrameSource::open(place, filter, reading);
  if (!source) return std::unexpected(source.error());
  while (frames.size() < numbers.size()) {
    const auto frame = source->next();
    if (!frame || !*frame) break;
    const auto number = static_cast<std::uint32_t>((*frame)->number);
    if (numbers.contains(number)) frames.emplace(number, kept(**frame));
  }
  return frames;
}

/// Returns null if the frame has no such field.
const std::string* value_of(const FieldTexts& fields, std::string_view name) {
  const auto at = std::ranges::find(fields, name, [](const auto& f) { return f.first; });
  return at == fields.end() ? nullptr : &at->second;
}

/// The fields with different values, those of `sent` first.
std::vector<FieldChange> differences(const FieldTexts& sent, const FieldTexts& received) {
  std::vector<FieldChange> changes;
  for (const auto& [name, value] : sent) {
    const std::string* other = value_of(received, name);
    if (!other || *other != value)
      changes.push_back({std::string(name), value, other ? *other : std::string(), 1});
  }
  for (const auto& [name, value] : received)
    if (!value_of(sent, name)) changes.push_back({std::string(name), {}, value, 1});
  return changes;
}

void add_payload_changes(FrameChange& change, const std::vector<std::byte>& sent,
                         const std::vector<std::byte>& received) {
  for (std::size_t i = 0; i < std::min(sent.size(), received.size()); ++i) {
    if (sent[i] == received[i]) continue;
    ++change.payload_bytes;
    if (change.payload.size() < kMostOffsets) change.payload.push_back(i);
  }
}

/// Whether a field says where a frame comes from or goes to: what NAT rewrites.
bool is_address(std::string_view field) {
  static constexpr std::string_view kNames[] = {"ip.src",   "ip.dst",      "ipv6.src",
                                                "ipv6.dst", "udp.srcport", "udp.dstport"};
  return std::ranges::find(kNames, field) != std::end(kNames);
}

/// Adds the addresses and ports that several changed frames have alike.
void add_addresses(Changes& changes) {
  std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> counts;
  for (const FrameChange& frame : changes.frames)
    for (const FieldChange& c : frame.fields)
      if (is_address(c.field)) ++counts[{c.field, c.sent, c.received}];
  for (const auto& [key, frames] : counts)
    if (frames > 1)
      changes.rewritten.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), frames});
  std::ranges::stable_sort(changes.rewritten, std::greater<>(), &FieldChange::frames);
}

}  // namespace

std::vector<FieldChange> rewritten_fields(const DirectionResult& result, const HeaderForms& forms) {
  std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> counts;
  for (const auto& [pair, frames] : result.rewritten) {
    if (pair.first == 0 || pair.second == 0) continue;
    for (const FieldChange& c : differences(forms.fields(pair.first), forms.fields(pair.second)))
      counts[{c.field, c.sent, c.received}] += frames;
  }
  std::vector<FieldChange> changes;
  for (const auto& [key, frames] : counts)
    changes.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), frames});
  std::ranges::stable_sort(changes, std::greater<>(), &FieldChange::frames);
  return changes;
}

Result<Changes> find_changes(const DirectionResult& result, const HeaderForms& forms,
                             const std::string& sender, const std::string& receiver,
                             const std::string& filter, const FrameReading& reading) {
  Changes changes{.rewritten = rewritten_fields(result, forms)};
  if (result.changed_frames.empty()) return changes;
  changes.examined = place_of(sender).file != "-" && place_of(receiver).file != "-";
  if (!changes.examined) return changes;
  std::set<std::uint32_t> at_sender, at_receiver;
  for (const ChangedFrame& frame : result.changed_frames) {
    at_sender.insert(frame.sent);
    at_receiver.insert(frame.received);
  }
  auto sent = read_frames(sender, filter, reading, at_sender);
  if (!sent) return std::unexpected(sent.error());
  auto received = read_frames(receiver, filter, reading, at_receiver);
  if (!received) return std::unexpected(received.error());
  for (const ChangedFrame& frame : result.changed_frames) {
    const KeptFrame &before = (*sent)[frame.sent], &after = (*received)[frame.received];
    FrameChange change{.frame = frame, .fields = differences(before.fields, after.fields)};
    add_payload_changes(change, before.payload, after.payload);
    changes.frames.push_back(std::move(change));
  }
  add_addresses(changes);
  return changes;
}

}  // namespace lw::dissect
