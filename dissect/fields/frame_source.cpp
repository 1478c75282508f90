// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/frame_source.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <sys/stat.h>
#include <utility>

#include <fmt/format.h>

#include "capture/link_names.h"
#include "core/output.h"
#include "core/quantity.h"
#include "dissect/fields/condition.h"

namespace lw::dissect {
namespace {

Instant now() {
  return Instant{
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

}  // namespace

Progress::Progress(const std::vector<std::string>& files)
    : name_(files.size() == 1 ? files[0] : fmt::format("{} files", files.size())),
      display_({.mode = report::LiveMode::brief}) {
  if (!display_.shows()) return;
  display_.start(now());
  for (const std::string& file : files) {
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
      size_ = 0;
      return;
    }
    size_ += static_cast<std::uint64_t>(status.st_size);
  }
}

void Progress::show(std::uint64_t offset) {
  const Instant at = now();
  if (!display_.due(at)) return;
  const std::string read = size_ > 0 ? fmt::format("{} %", 100 * offset / size_)
                                     : format_bytes(static_cast<double>(offset));
  display_.show(at, {.title = name_, .line = fmt::format("{}: {}", name_, read)});
}

namespace {

/// A word of Wireshark's display filters and an example of the same filter in libpcap's syntax.
/// After an untagged UDP header the BTH begins at udp[8].
struct Translation {
  std::string_view word;
  std::string_view libpcap;
};

constexpr std::array kTranslations = {
    Translation{"bth.opcode", "udp port 4791 and udp[8] = 4"},
    Translation{"bth.destqp", "udp port 4791 and udp[12:4] & 0xffffff = 0x1a"},
    Translation{"bth.dstqp", "udp port 4791 and udp[12:4] & 0xffffff = 0x1a"},
    Translation{"bth.psn", "udp port 4791 and udp[16:4] & 0xffffff = 77"},
    Translation{"infiniband", "udp port 4791 or ether proto 0x8915"},
    Translation{"roce", "udp port 4791 or ether proto 0x8915"},
    Translation{"rocev2", "udp port 4791"},
    Translation{"ib.", "udp port 4791"},
    Translation{"udp.port", "udp port 4791"},
    Translation{"udp.dstport", "udp dst port 4791"},
    Translation{"udp.srcport", "udp src port 49152"},
    Translation{"ip.addr", "host 10.0.0.1"},
    Translation{"ipv6.addr", "host 2001:db8::1"},
    Translation{"ip.src", "src host 10.0.0.1"},
    Translation{"ip.dst", "dst host 10.0.0.1"},
    Translation{"ipv6.src", "src host 2001:db8::1"},
    Translation{"ipv6.dst", "dst host 2001:db8::1"},
    Translation{"eth.addr", "ether host 02:00:00:00:00:01"},
    Translation{"vlan.id", "vlan 100"},
    Translation{"frame.len", "greater 1000"},
};

/// Refuses a bad filter before anything is read. Compiles it for Ethernet, the link type of most
/// captures.
Result<void> check_filter(const std::string& filter, capture::FilterNames names) {
  auto compiled = capture::Filter::compile(filter, capture::kLinkTypeEthernet, names);
  if (compiled) return {};
  return fail(compiled.error().message + display_filter_hint(filter));
}

}  // namespace

namespace {

bool is_file(const std::string& name) {
  struct stat status{};
  return name == "-" || ::stat(name.c_str(), &status) == 0;
}

}  // namespace

CapturePlace place_of(const std::string& text) {
  const auto at = text.rfind('@');
  if (at == std::string::npos || is_file(text) || !is_file(text.substr(0, at))) return {text, {}};
  CapturePlace place{text.substr(0, at), {}};
  std::string_view rest = std::string_view(text).substr(at + 1);
  for (;;) {
    const auto comma = rest.find(',');
    place.interfaces.emplace_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) return place;
    rest.remove_prefix(comma + 1);
  }
}

namespace {

/// Whether `word` is the interface's name or its number.
bool names(std::string_view word, std::size_t number, const capture::Interface& interface) {
  return word == interface.name || word == fmt::format("{}", number);
}

bool is_wanted(const CapturePlace& place, std::size_t number, const capture::Interface& interface) {
  return place.interfaces.empty() ||
         std::ranges::any_of(place.interfaces, [&](const std::string& word) {
           return names(word, number, interface);
         });
}

/// Error: the file lacks an interface of the place.
Result<void> check_interfaces(const CapturePlace& place,
                              const std::vector<capture::Interface>& found) {
  for (const std::string& word : place.interfaces) {
    std::string all;
    bool known = false;
    for (std::size_t i = 0; i < found.size(); ++i) {
      known = known || names(word, i, found[i]);
      all += fmt::format("{}{} \"{}\"", i == 0 ? "" : ", ", i, found[i].name);
    }
    if (!known)
      return fail(fmt::format("{}: no interface \"{}\": it has {}", place.file, word, all));
  }
  return {};
}

}  // namespace

FrameSource::FrameSource(std::vector<Input> inputs, std::string filter, const FrameReading& reading)
    : inputs_(std::move(inputs)),
      filter_(std::move(filter)),
      filter_names_(reading.filter_names),
      roce_ports_(reading.roce_ports),
      opens_tunnels_(reading.tunnels),
      window_(reading.window) {
  std::vector<std::string> files;
  for (const Input& input : inputs_) files.push_back(input.place.file);
  progress_ = std::make_unique<Progress>(files);
}

Result<FrameSource> FrameSource::open(const std::string& place, const std::string& filter,
                                      const FrameReading& reading) {
  return open(std::span(&place, 1), filter, reading);
}

Result<FrameSource> FrameSource::open(std::span<const std::string> places,
                                      const std::string& filter, const FrameReading& reading) {
  if (auto checked = check_filter(filter, reading.filter_names); !checked)
    return std::unexpected(checked.error());
  std::vector<CapturePlace> from;
  for (const std::string& place : places) from.push_back(place_of(place));
  if (std::ranges::count(from, "-", &CapturePlace::file) > 1)
    return fail("- (standard input) can be read only once, and is given twice");
  const capture::Reading file{.follow_until = reading.follow_until};
  std::vector<Input> inputs;
  for (CapturePlace& place : from) {
    auto reader = capture::Reader::open(place.file, file);
    if (!reader) return std::unexpected(reader.error());
    inputs.push_back({std::move(*reader), std::move(place)});
  }
  return FrameSource(std::move(inputs), filter, reading);
}

void FrameSource::add_interfaces(Input& input) {
  const auto& found = input.reader.interfaces();
  for (std::size_t i = input.interfaces.size(); i < found.size(); ++i) {
    input.interfaces.push_back(static_cast<std::uint32_t>(interfaces_.size()));
    interfaces_.push_back(found[i]);
    if (found[i].link_type == capture::kLinkTypeErf)  // the reader takes its header off
      interfaces_.back().link_type = capture::kLinkTypeEthernet;
    wanted_.push_back(is_wanted(input.place, i, found[i]));
    files_.push_back(static_cast<std::uint32_t>(&input - inputs_.data()));
  }
}

void FrameSource::add_damage(const Error& error) {
  if (!damage_) {
    damage_ = error;
    return;
  }
  damage_->message += "\n" + error.message;
  damage_->exit = std::max(damage_->exit, error.exit);
}

std::optional<bool> FrameSource::take_previewed(Input& input, capture::Record& record) {
  if (!input.previewed.empty()) {
    record = input.previewed.pop_first();
    return true;
  }
  if (input.end) return note_end(input, *input.end);
  input.previewed.clear();
  input.ahead = false;
  return std::nullopt;
}

void FrameSource::read_ahead(std::uint32_t index, const std::function<bool()>& enough) {
  Input& input = inputs_[index];
  input.ahead = true;
  capture::Record record;
  while (!input.end && input.previewed.size() < kMostPreviewed && !enough()) {
    const auto found = input.reader.read(record);
    note_interfaces(input);
    if (!found || !*found) {
      input.end = found;
      return;
    }
    record.interface = input.interfaces[record.interface];
    input.previewed.add(record);
  }
}

/// Reads the first records of each file. Of several files, the heads reach the time when all have
/// begun: frames that several points have seen are then among them.
void FrameSource::read_heads() {
  const std::size_t most_bytes =
      inputs_.size() == 1 ? kPreviewedAloneBytes : kMostPreviewedBytes / inputs_.size();
  Instant begun = Instant::min();
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    const RecordBuffer& records = inputs_[i].previewed;
    const std::size_t most = inputs_.size() == 1 ? kPreviewedAlone : kPreviewed;
    read_ahead(i, [&] { return records.size() >= most || records.bytes() >= most_bytes; });
    if (!records.empty()) begun = std::max(begun, records.at(0).stamp);
  }
  if (inputs_.size() == 1 || inputs_.size() > kPreviewedTogether) return;
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    const RecordBuffer& records = inputs_[i].previewed;
    std::size_t since = 0, seen = 0;  // records since `begun`, and those looked at
    read_ahead(i, [&] {
      for (; seen < records.size(); ++seen) since += records.at(seen).stamp >= begun;
      return since >= kPreviewed || records.bytes() >= most_bytes;
    });
  }
}

void FrameSource::preview(const std::function<void(const CapturedFrame&)>& see) {
  read_heads();
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    const RecordBuffer& records = inputs_[i].previewed;
    if (!records.empty()) begin_ = std::min(begin_.value_or(Instant::max()), records.at(0).stamp);
    for (std::size_t k = 0; k < records.size(); ++k) {
      frame_.record = records.at(k);
      if (!wanted_[frame_.record.interface]) continue;
      const auto passed =
          filter_.empty() ? Result<bool>{true} : passes(frame_.record, link_type_of(frame_.record));
      if (!passed || !*passed) continue;
      frame_.file = i;
      open_frame();
      see(frame_);
    }
  }
  frame_ = {};
  unopened_.clear();
}

/// Every frame comes through here: the rest of its reading is out of the way.
bool FrameSource::read(std::uint32_t index, capture::Record& record) {
  Input& input = inputs_[index];
  if (input.ahead) [[unlikely]] {
    if (const auto taken = take_previewed(input, record)) return *taken;
  }
  const auto found = input.reader.read(record);
  note_interfaces(input);
  if (!found || !*found) [[unlikely]]
    return note_end(input, found);
  record.interface = input.interfaces[record.interface];
  return true;
}

/// Notes what is wrong with an input that has ended. Returns false.
bool FrameSource::note_end(const Input& input, const std::expected<bool, Error>& found) {
  const auto known =
      found ? check_interfaces(input.place, input.reader.interfaces()) : Result<void>{};
  if (!found) add_damage(found.error());
  if (!known) add_damage(known.error());
  return false;
}

void FrameSource::advance(std::uint32_t index) {
  capture::Record& head = inputs_[index].head;
  if (!read(index, head)) return;
  waiting_.push_back({head.stamp, index});
  std::push_heap(waiting_.begin(), waiting_.end());
}

/// Requires a filter.
Result<bool> FrameSource::passes(const capture::Record& record, int link_type) {
  auto found = filters_.find(link_type);
  if (found == filters_.end()) {
    auto compiled = capture::Filter::compile(filter_, link_type, filter_names_);
    if (!compiled) return std::unexpected(compiled.error());
    found = filters_.emplace(link_type, std::move(*compiled)).first;
  }
  return found->second.matches(record.bytes, record.wire_length);
}

/// Opens the layers of frame_.record.
void FrameSource::open_frame() {
  const capture::Record& record = frame_.record;
  const capture::Interface& interface = interfaces_[record.interface];
  frame_.number = number_;
  frame_.interface_name = interface.name;
  frame_.tunnels = nullptr;
  const int link_type = link_type_of(record);
  const auto link = roce::link_of(link_type);
  if (!link) {
    frame_.envelope = {};
    frame_.envelope.bytes = record.bytes;
    frame_.envelope.wire_length = record.wire_length;
    ++unopened_[link_type];
    return;
  }
  roce::open_envelope(frame_.envelope, record.bytes, record.wire_length, *link);
  if (frame_.envelope.is_roce()) return;
  roce_ports_.apply(frame_.envelope);
  if (!opens_tunnels_ || frame_.envelope.is_roce()) return;
  tunnels_ = {};
  roce::open_tunnels(frame_.envelope, tunnels_);
  roce_ports_.apply(frame_.envelope);
  if (!tunnels_.empty() || !tunnels_.unopened().empty()) frame_.tunnels = &tunnels_;
}

bool FrameSource::next_record() {
  if (ended_) return false;
  ended_ = !(inputs_.size() == 1 ? read(0, frame_.record) : next_of_several());
  number_ += !ended_;
  return !ended_;
}

bool FrameSource::next_of_several() {
  if (!begun_) {
    for (std::uint32_t i = 0; i < inputs_.size(); ++i) advance(i);
    begun_ = true;
  } else {
    advance(frame_.file);
  }
  if (waiting_.empty()) return false;
  std::pop_heap(waiting_.begin(), waiting_.end());
  frame_.file = waiting_.back().input;
  waiting_.pop_back();
  frame_.record = inputs_[frame_.file].head;
  return true;
}

std::uint64_t FrameSource::dropped() const noexcept {
  std::uint64_t dropped = 0;
  for (const Input& input : inputs_)
    for (std::size_t i = 0; i < input.interfaces.size(); ++i)
      if (wanted_[input.interfaces[i]]) dropped += input.reader.interfaces()[i].dropped();
  return dropped;
}

void FrameSource::show_progress() {
  std::uint64_t offset = 0;
  for (const Input& input : inputs_) offset += input.reader.file_offset();
  progress_->show(offset);
}

std::expected<const CapturedFrame*, Error> FrameSource::next() {
  while (next_record()) {
    if (progress_->is_due()) show_progress();
    if (!begin_) begin_ = frame_.record.stamp;
    const std::uint32_t interface = frame_.record.interface;
    if (!wanted_[interface]) continue;
    if (window_.is_bounded() && !window_.has(frame_.record.stamp, *begin_)) continue;
    if (!filter_.empty()) {
      const auto passed = passes(frame_.record, link_type_of(frame_.record));
      if (!passed) return std::unexpected(passed.error());
      if (!*passed) continue;
    }
    open_frame();
    if (window_.where && !is_wanted_frame()) continue;
    return &frame_;
  }
  report_unopened();
  if (damage_) return std::unexpected(*damage_);
  return nullptr;
}

bool FrameSource::is_wanted_frame() const {
  Dissection dissection(frame_);
  dissection.first_stamp = window_.first_stamp.value_or(*begin_);
  return window_.where->matches(dissection);
}

/// Once: next() may be called again at the end.
void FrameSource::report_unopened() {
  if (std::exchange(reported_, true)) return;
  for (const auto& [link_type, frames] : unopened_)
    print_report(fmt::format("{}: {} link type {} is not supported\n",
                             inputs_.size() == 1 ? inputs_.front().place.file
                                                 : fmt::format("{} files", inputs_.size()),
                             frames == 1 ? "1 frame is not read: its"
                                         : fmt::format("{} frames are not read: their", frames),
                             capture::link_type_text(link_type)),
                 true);
}

std::string display_filter_hint(const std::string& expression) {
  for (const Translation& t : kTranslations) {
    if (expression.find(t.word) == std::string::npos) continue;
    return fmt::format(
        "; this looks like a Wireshark display filter, but --filter takes libpcap's syntax, as "
        "tcpdump does: \"{}\", say",
        t.libpcap);
  }
  return {};
}

}  // namespace lw::dissect
