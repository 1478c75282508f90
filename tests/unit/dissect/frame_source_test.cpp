// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/frame_source.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/dissect/capture_file.h"

namespace lw::dissect::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::byte> frame_of(char mark) {
  return std::vector<std::byte>(60, static_cast<std::byte>(mark));
}

/// What a source gives: "1 a 0@5" is frame 1, which holds a, of file 0, at 5 ns.
struct Given {
  std::vector<std::string> frames, interfaces;
  Error error{};
};

Given read_places(const std::vector<std::string>& places, const std::string& filter = {}) {
  Given given;
  auto source = FrameSource::open(places, filter);
  if (!source) return {{}, {}, source.error()};
  for (;;) {
    const auto frame = source->next();
    if (!frame) given.error = frame.error();
    if (!frame || !*frame) return given;
    const capture::Record& record = (*frame)->record;
    given.frames.push_back(fmt::format("{} {} {}@{}", (*frame)->number,
                                       std::to_integer<char>(record.bytes[0]), (*frame)->file,
                                       to_ns(record.stamp)));
    given.interfaces.push_back(source->interfaces().at(record.interface).name);
  }
}

TEST(FrameSource, SeveralFilesAreOneCaptureInTheOrderOfTime) {
  CaptureFile one("one.pcapng"), two("two.pcapng"), empty("empty.pcapng");
  one.add(5, frame_of('a')).add(9, frame_of('b')).add(9, frame_of('c'));
  two.add(-3, frame_of('d')).add(9, frame_of('e')).add(12, frame_of('f'));
  EXPECT_THAT(read_places({one.path(), empty.path(), two.path()}).frames,
              ElementsAre("1 d 2@-3", "2 a 0@5", "3 b 0@9", "4 c 0@9", "5 e 2@9", "6 f 2@12"));
  EXPECT_THAT(read_places({two.path(), one.path()}).frames,
              ElementsAre("1 d 0@-3", "2 a 1@5", "3 e 0@9", "4 b 1@9", "5 c 1@9", "6 f 0@12"));
}

TEST(FrameSource, OneFileKeepsItsOrder) {
  CaptureFile file("unordered.pcapng"), other("other.pcapng");
  file.add(7, frame_of('a')).add(3, frame_of('b')).add(5, frame_of('c'));
  other.add(4, frame_of('d')).add(6, frame_of('e'));
  EXPECT_THAT(read_places({file.path()}).frames, ElementsAre("1 a 0@7", "2 b 0@3", "3 c 0@5"));
  EXPECT_THAT(read_places({file.path(), other.path()}).frames,
              ElementsAre("1 d 1@4", "2 e 1@6", "3 a 0@7", "4 b 0@3", "5 c 0@5"));
}

TEST(FrameSource, InterfacesOfSeveralFilesAreNumberedOn) {
  CaptureFile one("ends.pcapng", {{.name = "west"}, {.name = "east"}});
  CaptureFile two("third.pcapng", {{.name = "north"}});
  one.add(1, frame_of('a'), 0, 1).add(3, frame_of('b'), 0, 0);
  two.add(2, frame_of('c'));
  EXPECT_THAT(read_places({one.path(), two.path()}).interfaces,
              ElementsAre("east", "north", "west"));
  const Given some = read_places({one.path() + "@east", two.path() + "@0"});
  EXPECT_THAT(some.frames, ElementsAre("1 a 0@1", "2 c 1@2"));
  EXPECT_EQ(some.error.message, "");
  EXPECT_THAT(read_places({one.path() + "@up", two.path()}).error.message,
              HasSubstr("no interface \"up\": it has 0 \"west\", 1 \"east\""));
  EXPECT_THAT(read_places({one.path() + "@east", one.path() + "@west"}).frames,
              ElementsAre("1 a 0@1", "4 b 1@3"));
}

TEST(FrameSource, AFilterAppliesToEveryFile) {
  CaptureFile one("long.pcapng"), two("short.pcapng");
  one.add(1, frame_of('a')).add(3, std::vector<std::byte>(90, std::byte{'b'}));
  two.add(2, std::vector<std::byte>(80, std::byte{'c'}));
  EXPECT_THAT(read_places({one.path(), two.path()}, "greater 70").frames,
              ElementsAre("2 c 1@2", "3 b 0@3"));
}

TEST(FrameSource, OneDamagedFileDoesNotHideTheOthers) {
  CaptureFile one("cut.pcapng"), two("whole.pcapng"), three("cut2.pcapng");
  one.add(1, frame_of('a')).add(2, frame_of('b'));
  two.add(3, frame_of('c'));
  three.add(4, frame_of('d'));
  for (const std::string& path : {one.path(), three.path()})
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 10);
  const Given given = read_places({one.path(), two.path(), three.path()});
  EXPECT_THAT(given.frames, ElementsAre("1 a 0@1", "2 c 1@3"));
  EXPECT_EQ(given.error.exit, ExitCode::failed);
  EXPECT_THAT(given.error.message, testing::AllOf(HasSubstr("cut.pcapng: offset "), HasSubstr("\n"),
                                                  HasSubstr("cut2.pcapng: ")));
}

TEST(FrameSource, StandardInputCannotBeReadTwice) {
  EXPECT_THAT(read_places({"-", "-"}).error.message, HasSubstr("only once"));
}

TEST(CapturePlace, IsSplitOnlyBehindAFile) {
  CaptureFile file("place.pcapng");
  CaptureFile with_at("a@b.pcapng");
  const CapturePlace place = place_of(file.path() + "@eth0,3");
  EXPECT_EQ(place.file, file.path());
  EXPECT_THAT(place.interfaces, ElementsAre("eth0", "3"));
  EXPECT_EQ(place_of(with_at.path()).file, with_at.path());
  EXPECT_EQ(place_of(with_at.path() + "@1").file, with_at.path());
  EXPECT_EQ(place_of("-@1").file, "-");
  EXPECT_EQ(place_of("/nowhere/user@host.pcap").file, "/nowhere/user@host.pcap");
  EXPECT_THAT(read_places({"/nowhere/user@host.pcap"}).error.message,
              HasSubstr("/nowhere/user@host.pcap: "));
}

}  // namespace
}  // namespace lw::dissect::test
