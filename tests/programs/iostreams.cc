/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * C++ streams. libstdc++ opens with fopen64 and then reads and writes the
 * descriptor, so what the program asks for and what is called differ: the
 * tests compare with strace.
 */
#include <fstream>
#include <iostream>
#include <string>

int main()
{
    {
        std::ofstream out("lines");
        for (int n = 0; n < 5000; n++)
            out << "line " << n << '\n';
        std::ofstream binary("binary", std::ios::binary);
        const std::string block(100000, 'b');
        for (int n = 0; n < 5; n++)
            binary.write(block.data(), static_cast<std::streamsize>(block.size()));
    }
    std::ifstream in("lines");
    std::string line;
    long bytes = 0;
    while (std::getline(in, line))
        bytes += static_cast<long>(line.size()) + 1;
    in.clear();
    in.seekg(100);
    std::getline(in, line);
    std::fstream both("binary", std::ios::in | std::ios::out | std::ios::binary);
    both.seekp(1234);
    both.write("here", 4);
    both.seekg(1230);
    char text[9] = "";
    both.read(text, 8);
    std::cout << bytes << ' ' << line << ' ' << text << '\n';
    return 0;
}
