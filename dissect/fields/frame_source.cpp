// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/frame_source.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <sys/stat.h>

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::dissect {
namespace {

Instant now() {
  return Instant{
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

}  // namespace

Progress::Progress(std::string path)
    : path_(std::move(path)),
      display_({.style = report::ProgressStyle::overwrite,
                .terminal_interval = std::chrono::milliseconds(500)},
               now()) {
  struct stat status{};
  if (display_.on_terminal() && ::stat(path_.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
}

void Progress::show(std::uint64_t offset) {
  const Instant at = now();
  if (!display_.due(at)) return;
  display_.show(at, fmt::format("{}: {}", path_,
                                size_ > 0 ? fmt::format("{} %", 100 * offset / size_)
                                          : format_bytes(static_cast<double>(offset))));
}

namespace {

/// A word of Wireshark's display filters and an example of the same filter in libpcap's syntax.
/// Behind an untagged UDP header the BTH begins at udp[8].
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

/// Refuses a bad filter before anything is read. Most captures are of Ethernet.
Result<void> check_filter(const std::string& filter) {
  auto compiled = capture::Filter::compile(filter, capture::kLinkTypeEthernet);
  if (compiled) return {};
  return fail(compiled.error().message + display_filter_hint(filter));
}

}  // namespace

CapturePlace place_of(const std::string& text) {
  const auto at = text.rfind('@');
  struct stat status{};
  if (at == std::string::npos || ::stat(text.c_str(), &status) == 0) return {text, {}};
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

}  // namespace

Result<FrameSource> FrameSource::open(const std::string& place, const std::string& filter) {
  if (auto checked = check_filter(filter); !checked) return std::unexpected(checked.error());
  CapturePlace from = place_of(place);
  auto reader = capture::Reader::open(from.file);
  if (!reader) return std::unexpected(reader.error());
  return FrameSource(std::move(*reader), std::move(from), filter);
}

bool FrameSource::is_wanted(std::uint32_t interface) {
  if (place_.interfaces.empty()) return true;
  while (wanted_.size() <= interface) {
    const std::size_t number = wanted_.size();
    wanted_.push_back(std::ranges::any_of(place_.interfaces, [&](const std::string& word) {
      return names(word, number, reader_.interfaces()[number]);
    }));
  }
  return wanted_[interface];
}

Result<void> FrameSource::check_interfaces() const {
  const auto& found = reader_.interfaces();
  for (const std::string& word : place_.interfaces) {
    std::string all;
    bool known = false;
    for (std::size_t i = 0; i < found.size(); ++i) {
      known = known || names(word, i, found[i]);
      all += fmt::format("{}{} \"{}\"", i == 0 ? "" : ", ", i, found[i].name);
    }
    if (!known)
      return fail(fmt::format("{}: no interface \"{}\": it has {}", place_.file, word, all));
  }
  return {};
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
    if (!*record) {
      if (auto known = check_interfaces(); !known) return std::unexpected(known.error());
      return std::nullopt;
    }
    ++number_;
    progress_->at((*record)->offset);
    if (!is_wanted((*record)->interface)) continue;
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
