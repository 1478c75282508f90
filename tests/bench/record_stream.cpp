// SPDX-License-Identifier: BSD-3-Clause
// Plain collectors of telemetry records, and their senders: what telemetry_bench.py compares
// records written by RDMA with. No code of the project is in it.
//
//   record_stream collect udp|tcp PORT RECORDS          prints a line of JSON at the end
//   record_stream collect ring FILE RECORDS
//   record_stream send udp|tcp HOST PORT FILE RECORDS RATE
//
// A record has kRecord bytes, its number in the last eight, big-endian. FILE has records without
// numbers; the sender repeats them. UDP: one record a datagram; TCP: one stream, kBatch records a
// write. RATE is in records/s; 0: as fast as the socket takes them. Collectors store every record
// in a ring in memory and compare its number with the one expected. UDP has ended after 2 s of
// silence, TCP with the connection.
#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <span>
#include <string_view>
#include <sys/mman.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t kRecord = 32, kNumber = 8, kBatch = 64, kSlots = 65536;
using Clock = std::chrono::steady_clock;
using Batch = std::array<std::byte, kBatch * kRecord>;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "record_stream: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

std::uint64_t number_from(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    std::fprintf(stderr, "record_stream: expected a number, found \"%s\"\n", text.data());
    std::exit(2);
  }
  return value;
}

std::uint64_t number_of(std::span<const std::byte> record) {
  std::uint64_t number = 0;
  for (const std::byte b : record.last(kNumber))
    number = number << 8 | static_cast<std::uint8_t>(b);
  return number;
}

void put_number(std::span<std::byte> record, std::uint64_t number) {
  for (std::size_t i = kRecord; i-- > kRecord - kNumber; number >>= 8)
    record[i] = static_cast<std::byte>(number);
}

sockaddr_in address_of(const char* host, std::string_view port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(number_from(port)));
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) give_up(host);
  return address;
}

/// The records that arrived, in a ring.
class Ring {
 public:
  /// A record with another number than the one after the last is behind a gap, or late.
  void store(std::span<const std::byte> record) {
    const std::uint64_t number = number_of(record);
    if (taken_ == 0) began_ = Clock::now();
    std::memcpy(ring_.data() + number % kSlots * kRecord, record.data(), kRecord);
    if (number != expected_) ++gaps_;
    expected_ = number + 1;
    ++taken_;
  }
  /// Nothing more is there for now.
  void pause() {
    ended_ = Clock::now();
    seen_ = taken_;
  }
  [[nodiscard]] bool pending() const { return seen_ != taken_; }
  void print(std::uint64_t records) const {
    const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(ended_ - began_).count();
    std::printf("{\"records\": %ju, \"lost\": %ju, \"gaps\": %ju, \"elapsed_ns\": %jd}\n",
                static_cast<std::uintmax_t>(taken_), static_cast<std::uintmax_t>(records - taken_),
                static_cast<std::uintmax_t>(gaps_), static_cast<std::intmax_t>(took));
  }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  std::vector<std::byte> ring_ = std::vector<std::byte>(kSlots * kRecord);
  std::uint64_t taken_ = 0, seen_ = 0, gaps_ = 0, expected_ = 0;
  Clock::time_point began_{}, ended_{};
};

void collect_udp(int socket, Ring& ring, std::uint64_t records) {
  constexpr int kBuffer = 4 << 20;
  if (setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &kBuffer, sizeof kBuffer) != 0)
    give_up("receive buffer");
  static Batch bytes;
  std::array<iovec, kBatch> parts{};
  std::array<mmsghdr, kBatch> messages{};
  for (std::size_t i = 0; i < kBatch; ++i) {
    parts[i] = {bytes.data() + i * kRecord, kRecord};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  while (ring.taken() < records) {
    const int count = recvmmsg(socket, messages.data(), kBatch, MSG_WAITFORONE, nullptr);
    if (count < 0 && errno == EAGAIN && ring.taken() > 0) return;  // silence: SO_RCVTIMEO
    if (count < 0 && errno == EAGAIN) continue;
    if (count < 0) give_up("receive");
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      if (messages[i].msg_len == kRecord)
        ring.store(std::span(bytes).subspan(i * kRecord, kRecord));
    ring.pause();
  }
}

void collect_tcp(int socket, Ring& ring) {
  static Batch bytes;
  std::size_t kept = 0;
  for (;;) {
    const ssize_t count = recv(socket, bytes.data() + kept, bytes.size() - kept, 0);
    if (count < 0) give_up("receive");
    if (count == 0) return;
    kept += static_cast<std::size_t>(count);
    std::size_t at = 0;
    for (; at + kRecord <= kept; at += kRecord) ring.store(std::span(bytes).subspan(at, kRecord));
    std::memmove(bytes.data(), bytes.data() + at, kept - at);
    kept -= at;
    ring.pause();
  }
}

/// Follows the ring that a device writes until the last record, or 2 s without a new one.
void collect_ring(const char* file, Ring& ring, std::uint64_t records) {
  constexpr auto kBetween = std::chrono::milliseconds(5),
                 kPatience = std::chrono::milliseconds(2000);
  const int opened = open(file, O_RDONLY);
  void* mapped = mmap(nullptr, kSlots * kRecord, PROT_READ, MAP_SHARED, opened, 0);
  if (opened < 0 || mapped == MAP_FAILED) give_up(file);
  const std::span seen(static_cast<const std::byte*>(mapped), kSlots * kRecord);
  auto moved = Clock::now();
  for (std::uint64_t next = 0; next < records;) {
    std::array<std::byte, kRecord> record;
    std::memcpy(record.data(), seen.data() + next % kSlots * kRecord, kRecord);
    const std::uint64_t number = number_of(record);
    // Before the first lap a slot is all zeros; a record begins with an address.
    const bool there = record[0] != std::byte{} && number >= next;
    if (there) {
      ring.store(record);
      next = number + 1;
      continue;
    }
    const auto now = Clock::now();
    if (ring.taken() > 0 && ring.pending()) {
      ring.pause();
      moved = now;
    }
    if (ring.taken() > 0 && now - moved > kPatience) return;
    std::this_thread::sleep_for(kBetween);
  }
  ring.pause();
}

int collect_from_ring(const char* file, std::uint64_t records) {
  Ring ring;
  std::puts("ready");
  std::fflush(stdout);
  collect_ring(file, ring, records);
  ring.print(records);
  std::fflush(stdout);
  pause();
  return 0;
}

int collect(bool udp, std::string_view port, std::uint64_t records) {
  const int opened = socket(AF_INET, udp ? SOCK_DGRAM : SOCK_STREAM, 0);
  const sockaddr_in own = address_of("0.0.0.0", port);
  const timeval silence{.tv_sec = 2, .tv_usec = 0};
  const int on = 1;
  setsockopt(opened, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(opened, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) give_up("bind");
  Ring ring;
  if (udp) {
    setsockopt(opened, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
    std::puts("ready");
    std::fflush(stdout);
    collect_udp(opened, ring, records);
  } else {
    if (listen(opened, 1) != 0) give_up("listen");
    std::puts("ready");
    std::fflush(stdout);
    const int connection = accept(opened, nullptr, nullptr);
    if (connection < 0) give_up("accept");
    collect_tcp(connection, ring);
  }
  ring.print(records);
  std::fflush(stdout);
  pause();  // so that the CPU time can still be read: a signal ends it
  return 0;
}

/// Waits until record `number` is due.
void wait_for(Clock::time_point began, std::uint64_t number, std::uint64_t rate) {
  if (rate == 0) return;
  const auto due = began + std::chrono::nanoseconds(number * 1'000'000'000 / rate);
  if (due > Clock::now()) std::this_thread::sleep_until(due);
}

void send_datagrams(int socket, std::span<const std::byte> records) {
  std::array<iovec, kBatch> parts{};
  std::array<mmsghdr, kBatch> messages{};
  const std::size_t count = records.size() / kRecord;
  for (std::size_t i = 0; i < count; ++i) {
    parts[i] = {const_cast<std::byte*>(records.data() + i * kRecord), kRecord};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  for (std::size_t sent = 0; sent < count;) {
    const int done =
        sendmmsg(socket, messages.data() + sent, static_cast<unsigned>(count - sent), 0);
    if (done < 0 && errno != ENOBUFS && errno != EAGAIN) give_up("send");
    if (done > 0) sent += static_cast<std::size_t>(done);
  }
}

void send_stream(int socket, std::span<const std::byte> records) {
  while (!records.empty()) {
    const ssize_t done = ::send(socket, records.data(), records.size(), 0);
    if (done < 0) give_up("send");
    records = records.subspan(static_cast<std::size_t>(done));
  }
}

int send_records(bool udp, const sockaddr_in& peer, const char* file, std::uint64_t records,
                 std::uint64_t rate) {
  std::ifstream opened(file, std::ios::binary);
  const std::vector<char> heads{std::istreambuf_iterator<char>(opened), {}};
  const std::size_t known = heads.size() / kRecord;
  if (known == 0) give_up(file);
  const int out = socket(AF_INET, udp ? SOCK_DGRAM : SOCK_STREAM, 0);
  if (connect(out, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) give_up("connect");
  const auto began = Clock::now();
  // At a rate, as many at once as are due in about 1 ms.
  const std::uint64_t most = rate == 0 ? kBatch : std::clamp<std::uint64_t>(rate / 1000, 1, kBatch);
  static Batch batch;
  for (std::uint64_t number = 0; number < records;) {
    const std::uint64_t count = std::min(most, records - number);
    wait_for(began, number, rate);
    for (std::size_t i = 0; i < count; ++i, ++number) {
      const auto record = std::span(batch).subspan(i * kRecord, kRecord);
      std::memcpy(record.data(), heads.data() + number % known * kRecord, kRecord);
      put_number(record, number);
    }
    const auto filled = std::span(batch).first(count * kRecord);
    udp ? send_datagrams(out, filled) : send_stream(out, filled);
  }
  close(out);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::span<char*> given(words, static_cast<std::size_t>(count));
  const std::string_view what = count > 2 ? given[1] : "", over = count > 2 ? given[2] : "";
  if (what == "collect" && over == "ring" && count == 5)
    return collect_from_ring(given[3], number_from(given[4]));
  const bool known = over == "udp" || over == "tcp";
  if (known && what == "collect" && count == 5)
    return collect(over == "udp", given[3], number_from(given[4]));
  if (known && what == "send" && count == 8)
    return send_records(over == "udp", address_of(given[3], given[4]), given[5],
                        number_from(given[6]), number_from(given[7]));
  std::fputs(
      "usage: record_stream collect udp|tcp PORT RECORDS\n"
      "       record_stream collect ring FILE RECORDS\n"
      "       record_stream send udp|tcp HOST PORT FILE RECORDS RATE\n",
      stderr);
  return 2;
}
