// SPDX-License-Identifier: BSD-3-Clause
#include "impair/record/replay_source.h"

#include <algorithm>
#include <charconv>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impair/record/recorder.h"

namespace lw::impair {
namespace {

using emulator::Direction;

constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 50;

/// Interfaces and frame count of a capture.
struct Survey {
  std::vector<capture::Interface> interfaces;
  std::optional<std::uint64_t> frames = {};  // unknown for standard input
};

/// Reads a capture for its interfaces, at least one: a pcapng file may describe an interface
/// anywhere, but the output describes all of them first. Standard input can't be read twice, so
/// only the interfaces before its first frame are known.
Result<Survey> survey(const std::string& path, const capture::Reader& begun) {
  Survey survey{begun.interfaces()};
  if (path != "-") {
    auto reader = capture::Reader::open(path);
    if (!reader) return std::unexpected(reader.error());
    for (survey.frames = 0;; ++*survey.frames) {
      const auto record = reader->next();
      if (!record || !*record) break;
    }
    survey.interfaces = reader->interfaces();
  }
  if (survey.interfaces.empty()) survey.interfaces.emplace_back();
  return survey;
}

/// Returns the ingress frame number from a comment that comment_of() made.
std::optional<std::uint64_t> number_in(std::string_view comment) noexcept {
  constexpr std::string_view kBefore = "; frame ";
  const auto place = comment.find(kBefore);
  if (place == std::string_view::npos) return std::nullopt;
  comment.remove_prefix(place + kBefore.size());
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(comment.data(), comment.data() + comment.size(), number);
  if (error != std::errc{} || number > kMostNumber) return std::nullopt;
  return number;
}

bool comes_in(const capture::Interface& interface) {
  return interface.name == kInterfaceNames[interface_of(Direction::west_to_east, false)] ||
         interface.name == kInterfaceNames[interface_of(Direction::east_to_west, false)];
}

/// Checks that every interface has a name of kInterfaceNames, and that at least one of these names
/// is for received frames.
Result<void> check_names(const std::string& path,
                         const std::vector<capture::Interface>& interfaces) {
  for (std::size_t i = 0; i < interfaces.size(); ++i) {
    const std::string& name = interfaces[i].name;
    if (std::ranges::find(kInterfaceNames, name) != std::end(kInterfaceNames)) continue;
    return fail(fmt::format(
        "{}: interface {} {}, which doesn't say what its frames are: --both takes a recording "
        "of roce-impair's (--pcap), with interfaces \"{}\"; for a capture of each side there is "
        "--back",
        path, i, name.empty() ? "has no name" : fmt::format("is named \"{}\"", name),
        fmt::join(kInterfaceNames, "\", \"")));
  }
  if (std::ranges::any_of(interfaces, comes_in)) return {};
  return fail(fmt::format("{}: none of its interfaces has what came in: expected \"{}\" or \"{}\"",
                          path, kInterfaceNames[interface_of(Direction::west_to_east, false)],
                          kInterfaceNames[interface_of(Direction::east_to_west, false)]));
}

Error several_link_types(const std::string& path, int type, const std::string& other,
                         int expected) {
  return {
      fmt::format("{}: frames of link type {} beside those of {} in {}: both directions' are of "
                  "one link type",
                  path, type, expected, other)};
}

/// Returns the next record. Errors: of the reader; a time stamp so large that its sum with a delay
/// does not fit 64 bits of nanoseconds.
std::expected<std::optional<capture::Record>, Error> next_record(capture::Reader& reader,
                                                                 const std::string& path) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  auto record = reader.next();
  if (!record || !*record) return record;
  const std::int64_t stamp = to_ns((*record)->stamp);
  if (stamp > -kMost && stamp < kMost) return record;
  return fail(fmt::format("{}: offset {}: the time stamp is {} ns; expected one from 1823 to 2116",
                          path, (*record)->offset, stamp),
              ExitCode::failed);
}

}  // namespace

Result<ReplaySource> ReplaySource::open(const ReplayInput& input) {
  ReplaySource source;
  Result<void> added;
  if (input.by_name) {
    if (input.in == "-")
      return fail(
          "--both reads IN once for each direction, which standard input can't be: name a "
          "file");
    for (const Direction direction : {Direction::west_to_east, Direction::east_to_west})
      if (added)
        added = source.add(input.in, direction, kInterfaceNames[interface_of(direction, false)]);
  } else {
    if (input.back && *input.back == "-" && input.in == "-")
      return fail("IN and --back are both standard input: name a file for one of them");
    added = source.add(input.in, input.direction);
    if (added && input.back) added = source.add(*input.back, opposite(input.direction));
  }
  if (added) added = source.assign_interfaces();
  if (!added) return std::unexpected(added.error());
  return source;
}

Result<void> ReplaySource::add(const std::string& path, Direction direction,
                               std::string_view only) {
  auto reader = capture::Reader::open(path);
  if (!reader) return std::unexpected(reader.error());
  feeds_.push_back({path, std::move(*reader), direction, only});
  directions_.push_back(direction);
  return {};
}

Result<void> ReplaySource::assign_interfaces() {
  for (Feed& feed : feeds_) advance(feed);
  if (both()) return join_interfaces();
  const Feed& feed = feeds_.front();
  auto surveyed = survey(feed.path, feed.reader);
  if (!surveyed) return std::unexpected(surveyed.error());
  frames_ = surveyed->frames;
  if (std::ranges::any_of(surveyed->interfaces, comes_in))
    return fail(
        fmt::format("{}: a recording of roce-impair's, of both directions, with what came "
                    "in and the same again as it went out: replay it with --both",
                    feed.path));
  interfaces_ = std::move(surveyed->interfaces);
  return {};
}

/// Sets one output interface per direction. All frames must have one link type.
Result<void> ReplaySource::join_interfaces() {
  std::optional<int> type;
  frames_ = 0;
  for (const Feed& feed : feeds_) {
    const auto surveyed = survey(feed.path, feed.reader);
    if (!surveyed) return std::unexpected(surveyed.error());
    if (!surveyed->frames) frames_.reset();
    if (frames_) frames_ = std::max(*frames_, *surveyed->frames);
    if (!feed.only.empty())
      if (auto named = check_names(feed.path, surveyed->interfaces); !named) return named;
    for (const capture::Interface& interface : surveyed->interfaces) {
      if (!feed.only.empty() && interface.name != feed.only) continue;
      if (!type) type = interface.link_type;
      if (interface.link_type != *type)
        return std::unexpected(
            several_link_types(feed.path, interface.link_type, feeds_.front().path, *type));
    }
  }
  for (const Direction direction : {Direction::west_to_east, Direction::east_to_west})
    interfaces_.push_back({.link_type = type.value_or(capture::kLinkTypeEthernet),
                           .name = std::string(kInterfaceNames[interface_of(direction, true)])});
  return {};
}

void ReplaySource::advance(Feed& feed) {
  while (!feed.front && !feed.ended) {
    const auto record = next_record(feed.reader, feed.path);
    if (!record && !damage_) damage_ = record.error();
    if (!record || !*record) {
      feed.ended = true;
    } else if (feed.only.empty() ||
               feed.reader.interfaces()[(*record)->interface].name == feed.only) {
      feed.front = **record;
    }
  }
}

/// A frame without a number counts as the next one of its predecessor.
void ReplaySource::count_missing(Feed& feed) {
  const std::uint64_t number = number_in(feed.front->comment).value_or(feed.next_number);
  if (number < feed.next_number) return;
  feed.missing += number - feed.next_number;
  feed.next_number = number + 1;
}

std::uint64_t ReplaySource::missing() const noexcept {
  std::uint64_t missing = 0;
  for (const Feed& feed : feeds_) missing += feed.missing;
  return missing;
}

Result<std::optional<Arriving>> ReplaySource::next() {
  Feed* first = nullptr;
  for (Feed& feed : feeds_) {
    advance(feed);
    if (feed.front && (!first || feed.front->stamp < first->front->stamp)) first = &feed;
  }
  if (!first) return std::nullopt;
  Arriving frame{.record = *first->front, .link = {}, .direction = first->direction};
  if (!first->only.empty()) count_missing(*first);
  first->front.reset();
  const int type = first->reader.interfaces()[frame.record.interface].link_type;
  const auto link = roce::link_of(type);
  if (!link)
    return fail(fmt::format("{}: offset {}: a frame of link type {}, which can't be read",
                            first->path, frame.record.offset, type),
                ExitCode::failed);
  frame.link = *link;
  if (both()) {
    // Standard input may introduce another link type at any time.
    if (type != interfaces_.front().link_type)
      return std::unexpected(several_link_types(first->path, type, feeds_.front().path,
                                                interfaces_.front().link_type));
    frame.record.interface = static_cast<std::uint32_t>(frame.direction);
  }
  return frame;
}

}  // namespace lw::impair
