// SPDX-License-Identifier: BSD-3-Clause
#include "core/output.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw {
namespace output_test {

namespace fs = std::filesystem;
using testing::HasSubstr;
using enum OutputFile::Mode;

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }

class Output : public testing::Test {
 protected:
  Output() {
    std::string name = (fs::temp_directory_path() / "longwire.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Output() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }
  OutputFile opened(const std::string& file, OutputFile::Mode mode, std::size_t buffer = 65536) {
    return std::move(OutputFile::open(file, mode, buffer).value());
  }

  fs::path folder_;
};

/// While it lives, files of this process may not be longer than `bytes`: what a quota does.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = SIG_DFL;
};

TEST_F(Output, WholeFileAppearsWhenItIsComplete) {
  put(path("out"), "former");
  auto file = opened(path("out"), whole);
  file.write("new\n");
  EXPECT_TRUE(file.flush());
  EXPECT_EQ(content(path("out")), "former");
  EXPECT_TRUE(file.close());
  EXPECT_EQ(content(path("out")), "new\n");
  EXPECT_EQ(files(), 1);
}

TEST_F(Output, AppendedFileKeepsWhatIsThere) {
  put(path("out"), "former\n");
  auto file = opened(path("out"), appended);
  EXPECT_EQ(content(path("out")), "former\n");
  file.write("new\n");
  EXPECT_TRUE(file.flush());
  EXPECT_EQ(content(path("out")), "former\nnew\n");
  EXPECT_FALSE(OutputFile::open(path("out"), appended)) << "another writer has it";
  EXPECT_TRUE(file.close());
  auto created = opened(path("not there"), appended);
  created.write("first\n");
  EXPECT_TRUE(created.close());
  EXPECT_EQ(content(path("not there")), "first\n");
}

TEST_F(Output, AppendedFileOnAFullDiskKeepsWholeRecords) {
  put(path("out"), "former\n");
  const FileLimit limit(20);
  auto file = opened(path("out"), appended);
  file.write("eight B\n");
  EXPECT_TRUE(file.flush());
  file.write("eight B\n");
  EXPECT_FALSE(file.flush());
  EXPECT_FALSE(file.close());
  EXPECT_EQ(content(path("out")), "former\neight B\n");
}

TEST_F(Output, WholeFileThatIsNotClosedLeavesNothing) {
  put(path("former"), "former");
  for (const char* name : {"former", "new"}) opened(path(name), whole).write("text");
  EXPECT_EQ(content(path("former")), "former");
  EXPECT_EQ(files(), 1);
}

TEST_F(Output, WholeFileKeepsModeAndSymbolicLink) {
  put(path("real"), "former");
  fs::permissions(path("real"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", path("link"));
  ASSERT_TRUE(write_file(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("real")), "new");
  EXPECT_EQ(fs::status(path("real")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Output, WholeFileOnAFullDiskKeepsTheFormerOne) {
  put(path("out"), "former");
  const FileLimit limit(100);
  const auto written = write_file(path("out"), std::string(200, 'x'));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().exit, ExitCode::environment);
  EXPECT_THAT(written.error().message, HasSubstr(path("out")));
  EXPECT_THAT(written.error().message, HasSubstr("the former file is as it was"));
  EXPECT_EQ(content(path("out")), "former");
  EXPECT_EQ(files(), 1);
}

TEST_F(Output, GrowingFileOnAFullDiskEndsWithAWholeRecord) {
  auto file = opened(path("out"), growing, 64);
  const FileLimit limit(100);
  for (int i = 0; i < 20; ++i) file.write("0123456789abcdef");
  EXPECT_TRUE(file.failed());
  EXPECT_EQ(file.lost(), 14U);
  const auto closed = file.close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().exit, ExitCode::environment);
  EXPECT_THAT(closed.error().message,
              HasSubstr("its first 96 bytes are valid, with 6 whole records; 14 are missing"));
  EXPECT_EQ(fs::file_size(path("out")), 96U);
}

TEST_F(Output, GrowingFileIsLocked) {
  auto first = opened(path("out"), growing);
  first.write("first");
  ASSERT_TRUE(first.flush());
  for (const auto mode : {growing, whole}) {
    const auto second = OutputFile::open(path("out"), mode);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().exit, ExitCode::environment);
    EXPECT_THAT(second.error().message, HasSubstr("another process is writing it"));
  }
  EXPECT_EQ(content(path("out")), "first");
  ASSERT_TRUE(first.close());
  EXPECT_TRUE(OutputFile::open(path("out"), growing));
}

TEST_F(Output, GrowingFileWithoutARecordLeavesTheFormerOne) {
  put(path("out"), "former");
  opened(path("out"), growing).pending() += "header";
  EXPECT_EQ(content(path("out")), "former");
  opened(path("new"), growing).pending() += "header";
  EXPECT_EQ(files(), 1);
  opened(path("out"), growing).write("record");
  EXPECT_EQ(content(path("out")), "record");
}

TEST_F(Output, FullDeviceIsAnError) {
  for (const auto mode : {growing, whole}) {
    auto file = opened("/dev/full", mode);
    file.write("text");
    const auto closed = file.close();
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.error().message,
              "/dev/full: cannot be written: No space left on device; its first 0 bytes are valid, "
              "with 0 whole records; 1 are missing");
  }
}

TEST_F(Output, FolderThatIsNotThereIsAnError) {
  for (const auto mode : {growing, whole}) {
    const auto file = OutputFile::open(path("no/out"), mode);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().exit, ExitCode::environment);
    EXPECT_THAT(file.error().message, HasSubstr("No such file or directory"));
  }
}

TEST_F(Output, AnOutputIsNeverAnInputOrAnotherOutput) {
  put(path("in"), "input");
  fs::create_symlink("in", path("symbolic"));
  fs::create_hard_link(path("in"), path("hard"));
  for (const char* name : {"in", "./in", "symbolic", "hard"}) {
    const std::string out = folder_.string() + "/" + name;
    const auto checked = check_outputs({{"IN", path("in")}}, {{"OUT", out}});
    ASSERT_FALSE(checked) << out;
    EXPECT_EQ(checked.error().exit, ExitCode::usage);
    EXPECT_EQ(checked.error().message,
              out + ": expected a file of its own for OUT, found that IN is the same");
  }
  EXPECT_FALSE(check_outputs({}, {{"--a", path("new")}, {"--b", folder_.string() + "/./new"}}));
  EXPECT_FALSE(check_outputs({}, {{"--a", path("out.gz")}}));
  EXPECT_TRUE(check_outputs({{"IN", path("in")}}, {{"--a", path("x")}, {"--b", path("y")}}));
  EXPECT_TRUE(check_outputs({{"IN", "-"}}, {{"--a", "-"}, {"--b", ""}, {"--c", ""}}));
  EXPECT_TRUE(check_outputs({}, {{"--a", "/dev/null"}, {"--b", "/dev/null"}}));
}

TEST_F(Output, AFileThatWasReadIsNeverAnOutput) {
  put(path("read"), "input");
  fs::create_symlink("read", path("symbolic"));
  note_input(path("read"));
  note_input("-");
  for (const char* name : {"read", "symbolic"}) {
    const auto checked = check_outputs({}, {{"--pcap", path(name)}});
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(
        checked.error().message,
        path(name) + ": expected a file of its own for --pcap, found that an input is the same");
    for (const auto mode : {growing, whole}) {
      const auto file = OutputFile::open(path(name), mode);
      ASSERT_FALSE(file) << name;
      EXPECT_EQ(file.error().exit, ExitCode::usage);
      EXPECT_EQ(file.error().message,
                path(name) + ": cannot be written: it is an input: name another file");
    }
  }
  EXPECT_EQ(content(path("read")), "input");
  EXPECT_TRUE(write_file(path("other"), "text"));
}

}  // namespace output_test
}  // namespace lw
