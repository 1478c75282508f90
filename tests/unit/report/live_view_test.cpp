// SPDX-License-Identifier: BSD-3-Clause
#include "report/live_view.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw::report {
namespace live_view_test {

using std::chrono::seconds;
using testing::ElementsAre;

LiveModel two_sections() {
  LiveModel model{.title = "roce-gen run x.toml",
                  .status = "3 s",
                  .colour = Colour::red,
                  .verdict_text = "2 lost",
                  .sections = {{.columns = {{""}, {""}}, .rows = {{"sent", "12 frames"}}},
                               {.title = "flows",
                                .columns = {{"flow"}, {"lost", Align::right}},
                                .rows = {{"a", "1"}, {"bb", "0"}, {"c", "1"}, {"d", "0"}}}},
                  .line = "3 s; sent 12 frames"};
  return model;
}

TEST(Screen, HasExactlyTheseBytes) {
  EXPECT_EQ(screen_bytes(two_sections(), {40, 20}, true),
            "\x1b[H"
            "\x1b[1mroce-gen run x.toml  3 s\x1b[0m\x1b[K\r\n"
            "\x1b[31m2 lost\x1b[0m\x1b[K\r\n"
            "\x1b[K\r\n"
            "sent  12 frames\x1b[K\r\n"
            "\x1b[K\r\n"
            "\x1b[1mflows\x1b[0m\x1b[K\r\n"
            "flow  lost\x1b[K\r\n"
            "a        1\x1b[K\r\n"
            "bb       0\x1b[K\r\n"
            "c        1\x1b[K\r\n"
            "d        0\x1b[K\x1b[J");
  EXPECT_EQ(
      screen_bytes({.title = "t", .colour = Colour::green, .verdict_text = "v"}, {9, 2}, false),
      "\x1b[Ht\x1b[K\r\nv\x1b[K\x1b[J");
}

TEST(Screen, ShowsAVerdictInItsColour) {
  Verdict verdict;
  LiveModel model{.title = "t", .line = "3 s"};
  const auto judged = [&](Holds holds) {
    verdict.add({.name = "loss", .observed = "2 lost", .holds = holds});
    model.show(verdict);
    return screen_bytes(model, {60, 2}, true);
  };
  EXPECT_THAT(judged(Holds::yes), testing::HasSubstr("\x1b[32mholds: 1 statement\x1b[0m"));
  EXPECT_EQ(model.line, "3 s");
  EXPECT_THAT(judged(Holds::unknown), testing::HasSubstr("\x1b[33mcannot tell: 2 lost\x1b[0m"));
  EXPECT_EQ(model.line, "3 s; cannot tell: 2 lost");
  EXPECT_THAT(judged(Holds::no), testing::HasSubstr("\x1b[31mdoes not hold: 2 lost\x1b[0m"));
}

TEST(Screen, ALowOneCountsTheRowsThatDoNotFit) {
  EXPECT_THAT(screen_lines(two_sections(), {40, 10}),
              ElementsAre("roce-gen run x.toml  3 s", "2 lost", "", "sent  12 frames", "", "flows",
                          "flow  lost", "a        1", "bb       0", "2 more"));
  LiveModel with_more = two_sections();
  with_more.sections[1].more = 1000;
  EXPECT_EQ(screen_lines(with_more, {40, 10}).back(), "1002 more");
}

TEST(Screen, ColumnsThatDoNotFitFollowBelowWithTheFirstOne) {
  const LiveModel model{
      .title = "t",
      .sections = {{.title = "links",
                    .columns = {{"direction"}, {"in", Align::right}, {"out", Align::right}},
                    .rows = {{"west", "1 Gb/s", "22 Gb/s"}, {"east", "3 Gb/s", "4 Gb/s"}},
                    .more = 5}}};
  EXPECT_THAT(screen_lines(model, {26, 20}),
              ElementsAre("t", "", "links", "direction      in      out",
                          "west       1 Gb/s  22 Gb/s", "east       3 Gb/s   4 Gb/s", "5 more"));
  EXPECT_THAT(
      screen_lines(model, {25, 20}),
      ElementsAre("t", "", "links", "direction      in", "west       1 Gb/s", "east       3 Gb/s",
                  "", "direction      out", "west       22 Gb/s", "east        4 Gb/s", "5 more"));
}

TEST(Screen, ATinyOneIsCut) {
  EXPECT_THAT(screen_lines(two_sections(), {8, 3}), ElementsAre("roce-gen", "2 lost", ""));
  EXPECT_THAT(screen_lines(two_sections(), {1, 1}), ElementsAre("r"));
  for (std::size_t rows = 1; rows < 14; ++rows)
    for (std::size_t columns = 1; columns < 30; ++columns) {
      const auto lines = screen_lines(two_sections(), {columns, rows});
      EXPECT_EQ(lines.size(), std::min<std::size_t>(rows, 11));
      for (const std::string& line : lines) EXPECT_LE(line.size(), columns);
    }
}

TEST(Clipped, CountsCharactersAndHidesControls) {
  EXPECT_EQ(clipped("äöü€", 3), "äöü");
  EXPECT_EQ(clipped("a\x1b[2Jb\n\x7f", 20), "a?[2Jb??");
  EXPECT_EQ(clipped("a\xc2\x9b"
                    "2J",
                    20),
            "a?2J");  // CSI in one character
}

TEST(Bar, IsAShare) {
  EXPECT_EQ(bar(0.5, 8), "####----");
  EXPECT_EQ(bar(-1, 4), "----");
  EXPECT_EQ(bar(7, 4), "####");
}

TEST(Sparkline, IsRelativeToItsLargestValue) {
  Sparkline line;
  EXPECT_EQ(line.text(true), "");
  for (const double value : {0.0, 1.0, 4.0, 8.0}) line.add(value);
  EXPECT_EQ(line.text(true), " ▁▄█");
  EXPECT_EQ(line.text(false), " .=@");
  for (std::size_t i = 0; i < Sparkline::kMost; ++i) line.add(1);
  EXPECT_EQ(line.text(false), std::string(Sparkline::kMost, '@'));
}

/// What a program writes to a file.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_), 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() { close(ends_[0]); }
  [[nodiscard]] int in() const { return ends_[1]; }
  std::string all() {
    close(ends_[1]);
    std::string text;
    char buffer[512];
    for (ssize_t n = 0; (n = read(ends_[0], buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(n));
    return text;
  }

 private:
  int ends_[2] = {-1, -1};
};

TEST(View, IsLinesWithoutATerminal) {
  Pipe pipe;
  {
    LiveView view({.mode = LiveMode::full, .file = pipe.in()});
    EXPECT_FALSE(view.on_screen());
    view.start(Instant{});
    EXPECT_FALSE(view.due(Instant{} + Duration{999'999'999}));
    EXPECT_TRUE(view.due(Instant{} + seconds(1)));
    view.finish(two_sections());
    EXPECT_FALSE(view.due(Instant{} + seconds(100)));
  }
  EXPECT_EQ(pipe.all(), "3 s; sent 12 frames\n");
}

TEST(View, ABriefOneHasNoLastLine) {
  Pipe pipe;
  LiveView view({.mode = LiveMode::brief, .elsewhere = seconds(5), .file = pipe.in()});
  view.start(Instant{});
  EXPECT_FALSE(view.due(Instant{} + seconds(4)));
  EXPECT_TRUE(view.due(Instant{} + seconds(5)));
  view.finish(two_sections());
  EXPECT_EQ(pipe.all(), "");
  LiveView silent({.mode = LiveMode::brief, .elsewhere = Duration{0}, .file = pipe.in()});
  silent.start(Instant{});
  EXPECT_FALSE(silent.shows());
  EXPECT_FALSE(silent.due(Instant::max() - Duration{1}));
}

/// A terminal of 20 x 5 characters, and who looks at it.
struct Pty {
  int master = -1, slave = -1;
  Pty() {
    winsize size{.ws_row = 5, .ws_col = 20, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
  }
  Pty(const Pty&) = delete;
  Pty& operator=(const Pty&) = delete;
  ~Pty() {
    close(master);
    close(slave);
  }
  /// What was written, when nobody writes any more.
  std::string all() {
    fcntl(master, F_SETFL, O_NONBLOCK);
    std::string text;
    char buffer[512];
    for (ssize_t n = 0; (n = read(master, buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(n));
    return text;
  }
};

TEST(View, IsAScreenInATerminalAndLeavesIt) {
  Pty pty;
  {
    LiveView view({.mode = LiveMode::full, .file = pty.slave});
    EXPECT_TRUE(view.on_screen());
    view.start(Instant{});
    EXPECT_TRUE(view.due(Instant{} + std::chrono::milliseconds(500)));
    view.finish({.title = "a title that is too long", .line = "x"});
  }
  EXPECT_EQ(pty.all(),
            "\x1b[?1049h\x1b[?25l\x1b[?7l"
            "\x1b[Ha title that is too \x1b[K\x1b[J"
            "\x1b[?7h\x1b[?25h\x1b[?1049l");
}

TEST(View, ABriefOneOverwritesItsLineAndErasesIt) {
  Pty pty;
  LiveView view({.mode = LiveMode::brief, .file = pty.slave});
  view.start(Instant{});
  view.show(Instant{} + seconds(1), {.title = "", .line = "a line that is much too long"});
  view.end();
  EXPECT_EQ(pty.all(), "\r\x1b[Ka line that is much\r\x1b[K");
}

TEST(View, NobodyWaitsForATerminalThatTakesNothing) {
  Pty pty;
  ASSERT_EQ(tcflow(pty.slave, TCOOFF), 0);  // as Ctrl-S
  LiveView view({.mode = LiveMode::full, .file = pty.slave});
  view.start(Instant{});
  for (int i = 1; i < 1000; ++i) view.show(Instant{} + seconds(i), two_sections());
  view.end();  // returns: the view gives up
  EXPECT_EQ(pty.all(), "");
}

TEST(View, ASignalThatEndsTheProcessRestoresTheTerminal) {
  Pty pty;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGTERM, SIG_DFL);
    LiveView view({.mode = LiveMode::full, .file = pty.slave});
    view.show(Instant{}, {.title = "t", .line = "x"});
    for (;;) pause();
  }
  std::string seen;
  char buffer[512];
  while (!seen.contains("\x1b[J")) {
    const ssize_t n = read(pty.master, buffer, sizeof buffer);
    ASSERT_GT(n, 0);
    seen.append(buffer, static_cast<std::size_t>(n));
  }
  kill(child, SIGTERM);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT_TRUE(pty.all().ends_with("\x1b[?7h\x1b[?25h\x1b[?1049l"));
}

}  // namespace live_view_test
}  // namespace lw::report
