// SPDX-License-Identifier: BSD-3-Clause
#include "capture/writer.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "capture/blocks.h"
#include "capture/gather.h"
#include "capture/packer.h"
#include "capture/pcapng_format.h"
#include "core/wide_registers.h"

namespace lw::capture {
namespace {

constexpr std::size_t kBatch = std::size_t{1} << 20;
// Blocks of the disk that are reserved at once: a large step keeps the file in one piece.
constexpr std::uint64_t kReserve = std::uint64_t{64} << 20;
// Bytes that go into the compressor before it must give everything out, so that a failed write
// loses no more than these.
constexpr std::uint64_t kMostHeld = std::uint64_t{64} << 20;

}  // namespace

struct Writer::State {
  /// Frames of an interface, in one file or in all.
  struct Counters {
    InterfaceCount count;
    std::uint64_t held = 0;  // of the written ones, those that the compressor may still have
  };

  /// A file that a ring may remove.
  struct Kept {
    std::string path;
    std::uint64_t frames = 0;
  };
  static std::uint64_t frames_of(const std::vector<Counters>& counters) noexcept {
    std::uint64_t frames = 0;
    for (const Counters& counter : counters) frames += counter.count.written;
    return frames;
  }

  static std::uint64_t lost_of(const std::vector<Counters>& counters) noexcept {
    std::uint64_t frames = 0;
    for (const Counters& counter : counters) frames += counter.count.lost;
    return frames;
  }

  State(std::string file_path, Writing how)
      : path(std::move(file_path)),
        name(path == "-" ? "standard output" : path),
        writing(std::move(how)),
        packed(is_packed(path)),
        all(writing.interfaces.size()),
        before(writing.interfaces.size()) {
    gather.text().reserve(kBatch + (kBatch >> 2));
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (!file || in_file == 0) return;
    pass_on();
    if (packed) empty_packer(true);
  }

  [[nodiscard]] bool is_pcapng() const noexcept { return writing.format == Format::pcapng; }
  [[nodiscard]] bool rotates() const noexcept { return writing.rotation.size > 0; }
  [[nodiscard]] bool failed() const noexcept { return failure || (file && file->failed()); }

  Result<void> open_next();
  void begin_record(std::size_t size);
  void rotate();
  void remove_oldest();
  bool pass_on();
  void write_batch();
  void pack_batch();
  bool flush();
  void empty_packer(bool ends);
  void lose_held();
  [[nodiscard]] std::string statistics() const;
  Result<void> finish_file();

  std::string path, name;
  Writing writing;
  bool packed;
  std::optional<OutputFile> file;
  std::optional<Packer> packer;
  Gather gather;
  std::vector<std::uint32_t> batch;   // interface of each record in `gather`
  std::vector<Counters> all, before;  // in all files, and in those before the present one
  std::uint64_t in_file = 0;          // records of the present file
  std::uint64_t held = 0;             // bytes in the compressor since it gave everything out
  std::int64_t last_ns = 0;
  std::uint64_t files = 0, removed = 0;
  std::deque<Kept> kept;
  std::optional<Error> failure;  // a further file could not be opened or closed
  std::jthread remover;
};

Result<void> Writer::State::open_next() {
  const std::string next = rotates() ? numbered_name(path, files + 1) : path;
  auto opened =
      OutputFile::open(next, writing.mode, kBatch,
                       packed ? OutputFile::Encoding::packed : OutputFile::Encoding::plain);
  if (!opened) return std::unexpected(opened.error());
  file.emplace(std::move(*opened));
  ++files;
  in_file = 0;
  before = all;
  if (rotates()) kept.push_back({next});
  std::string start;
  if (is_pcapng()) {
    put_pcapng_start(start, writing.interfaces);
  } else {
    put_pcap_start(start, writing.interfaces.front(), writing.format == Format::pcap);
  }
  if (packed) {
    packer.emplace();
    packer->put(std::as_bytes(std::span(start)), file->pending());
  } else {
    file->reserve_ahead(kReserve);
    file->pending().append(start);
  }
  return {};
}

/// Begins the next file if the present one has no room for a record of this size.
void Writer::State::begin_record(std::size_t size) {
  if (rotates() && in_file > 0 && !failed()) [[unlikely]] {
    const std::size_t more =
        packed ? 0 : gather.size() + size + kStatisticsSize * writing.interfaces.size();
    if (file->size() + more > writing.rotation.size) rotate();
  }
  ++in_file;
}

void Writer::State::rotate() {
  auto finished = finish_file();
  kept.back().frames = frames_of(all) - frames_of(before);
  if (finished) finished = open_next();
  if (!finished) failure = finished.error();
  if (writing.rotation.files > 0 && kept.size() > writing.rotation.files) remove_oldest();
}

/// To remove a file of a gigabyte takes tens of milliseconds, which a thread of its own waits for.
void Writer::State::remove_oldest() {
  removed += kept.front().frames;
  const auto remove = [oldest = std::move(kept.front().path)] { ::unlink(oldest.c_str()); };
  kept.pop_front();
  try {
    remover = std::jthread(remove);
  } catch (const std::system_error&) {  // the system starts no further thread
    remove();
  }
}

bool Writer::State::pass_on() {
  if (batch.empty()) return !failed();
  if (failed()) {
    for (const std::uint32_t interface : batch) ++all[interface].count.lost;
  } else if (packed) {
    pack_batch();
  } else {
    write_batch();
  }
  gather.clear();
  batch.clear();
  return !failed();
}

void Writer::State::write_batch() {
  const std::uint64_t records = file->records();
  file->write_pieces(gather.pieces(), gather.ends());
  const std::uint64_t written = file->records() - records;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    InterfaceCount& count = all[batch[i]].count;
    ++(i < written ? count.written : count.lost);
  }
}

void Writer::State::pack_batch() {
  for (const iovec& piece : gather.pieces())
    packer->put({static_cast<const std::byte*>(piece.iov_base), piece.iov_len}, file->pending());
  for (const std::uint32_t interface : batch) {
    ++all[interface].count.written;
    ++all[interface].held;
  }
  held += gather.size();
  if (!file->pending().empty()) file->end_record();
  if (file->failed()) return lose_held();
  if (held >= kMostHeld) empty_packer(false);
}

/// Frames that went into the compressor, and whose write has failed.
void Writer::State::lose_held() {
  for (Counters& counter : all) {
    const std::uint64_t frames = std::exchange(counter.held, 0);
    counter.count.written -= frames;
    counter.count.lost += frames;
  }
}

bool Writer::State::flush() {
  if (!pass_on()) return false;
  if (!packed) return file->flush();
  empty_packer(false);
  return !failed();
}

/// Writes everything that the compressor has; `ends`: no more follows in this file.
void Writer::State::empty_packer(bool ends) {
  if (held == 0 && !ends) return;
  held = 0;
  if (ends) {
    packer->end(file->pending());
  } else {
    packer->flush(file->pending());
  }
  if (!file->flush()) return lose_held();
  for (Counters& counter : all) counter.held = 0;
}

/// The statistics blocks of the present file.
std::string Writer::State::statistics() const {
  std::string text;
  if (!writing.statistics || !is_pcapng()) return text;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const std::uint64_t lost = all[i].count.lost - before[i].count.lost;
    put_pcapng_statistics(text, {.interface = i,
                                 .ns = last_ns,
                                 .received = all[i].count.written - before[i].count.written + lost,
                                 .dropped = lost});
  }
  return text;
}

Result<void> Writer::State::finish_file() {
  pass_on();
  const std::string end = statistics();
  if (packed) {
    packer->put(std::as_bytes(std::span(end)), file->pending());
    empty_packer(true);
  } else if (!end.empty()) {
    file->write_last(end);
  }
  const bool lost_some = file->failed();
  const std::string why = file->failure();
  auto closed = file->close();
  file.reset();
  // A compressed file's records are not frames, so this is said here.
  if (packed && lost_some && !closed && !closed.error().message.empty())
    return fail(fmt::format("{}: its first {} frames can be unpacked, and {} are missing", why,
                            frames_of(all) - frames_of(before), lost_of(all) - lost_of(before)),
                ExitCode::environment);
  return closed;
}

Result<Writer> Writer::create(const std::string& path, Writing writing) {
  const auto other_link = [&](const Interface& i) {
    return i.link_type != writing.interfaces.front().link_type;
  };
  if (writing.interfaces.empty())
    return fail(fmt::format("{}: a capture needs an interface", path));
  if (writing.format != Format::pcapng && std::ranges::any_of(writing.interfaces, other_link)) {
    return fail(
        fmt::format("{}: a pcap file holds one link type; name it .pcapng to keep several", path));
  }
  if (writing.rotation.size > 0 && path == "-")
    return fail("standard output: expected a file's name, as several files are asked for");
  auto state = std::make_unique<State>(path, std::move(writing));
  if (auto opened = state->open_next(); !opened) return std::unexpected(opened.error());
  return Writer(std::move(state));
}

Result<Writer> Writer::create(const std::string& path, Format format,
                              std::vector<Interface> interfaces, OutputFile::Mode mode) {
  return create(path, {.format = format, .interfaces = std::move(interfaces), .mode = mode});
}

Writer::Writer(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;
Writer::~Writer() = default;

Result<void> Writer::write(Instant stamp, Bytes bytes, std::uint32_t wire_length,
                           std::uint32_t interface, std::string_view comment) {
  wire_length = std::max(wire_length, static_cast<std::uint32_t>(bytes.size()));
  if (const std::uint32_t most = state_->writing.most_bytes; most > 0)
    bytes = bytes.first(std::min<std::size_t>(bytes.size(), most));
  return add<true>({stamp, {bytes, Bytes{}}, wire_length, interface, comment});
}

Result<void> Writer::refer(const Frame& frame) { return add<false>(frame); }

template <bool kCopies>
Result<void> Writer::add(const Frame& frame) {
  State& s = *state_;
  const std::uint32_t interface = frame.interface;
  if (interface >= s.all.size()) [[unlikely]]
    return fail(fmt::format("{}: no interface {}, there are {}", s.name, interface, s.all.size()));
  const auto& [first, second] = frame.bytes;
  const auto captured = static_cast<std::uint32_t>(first.size() + second.size());
  const FrameHead head{.ns = to_ns(frame.stamp),
                       .captured = captured,
                       .wire_length = std::max(frame.wire_length, captured),
                       .interface = interface};
  const bool pcapng = s.is_pcapng();
  if (!pcapng && (head.ns < 0 || head.ns / kNsPerSecond > 0xffffffff)) [[unlikely]]
    return fail(fmt::format("{}: a pcap file's stamps go from 1970 to 2106, not to {} ns", s.name,
                            head.ns));
  s.begin_record(pcapng ? packet_size(head, frame.comment) : kPcapHead + captured);
  std::string& text = s.gather.text();
  if (pcapng) {
    put_pcapng_head(text, head, frame.comment);
  } else {
    put_pcap_head(text, head, s.writing.format == Format::pcap);
  }
  if constexpr (kCopies) {
    text.append(reinterpret_cast<const char*>(first.data()), first.size());
  } else {
    s.gather.refer(first);
    s.gather.refer(second);
  }
  if (pcapng) put_pcapng_end(text, head, frame.comment);
  s.gather.end_record();
  s.batch.push_back(interface);
  s.last_ns = head.ns;
  if (s.gather.size() >= kBatch) s.pass_on();
  end_wide_registers();
  return {};
}

void Writer::count_dropped(std::uint32_t interface, std::uint64_t frames) {
  if (interface < state_->all.size()) state_->all[interface].count.lost += frames;
}

bool Writer::pass_on() { return state_->pass_on(); }
bool Writer::flush() { return state_->file ? state_->flush() : !state_->failed(); }
bool Writer::failed() const noexcept { return state_->failed(); }
std::string Writer::failure() const {
  return state_->failure ? state_->failure->message
         : state_->file  ? state_->file->failure()
                         : std::string();
}

InterfaceCount Writer::count(std::uint32_t interface) const noexcept {
  return state_->all[interface].count;
}
std::uint64_t Writer::files() const noexcept { return state_->files; }
std::uint64_t Writer::frames_removed() const noexcept { return state_->removed; }

Result<void> Writer::close() {
  State& s = *state_;
  if (!s.file) s.pass_on();  // counts what comes after a failure
  if (s.failure) return std::unexpected(*s.failure);
  if (!s.file) return {};
  auto finished = s.finish_file();
  if (!finished) s.failure = finished.error();
  return finished;
}

}  // namespace lw::capture
