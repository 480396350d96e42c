// Files of NumPy's format .npy, as numpy.save() writes them.
#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace autotune::test {

// `type` and `shape` as in the header: "<f4" and "(2, 3)".
template <typename T>
void write_npy(const std::string& path, const std::string& type, const std::string& shape,
               const std::vector<T>& elements, const std::string& fortran_order = "False") {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + fortran_order + ", 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00\x76\x00", 10);
  file << header;
  file.write(reinterpret_cast<const char*>(elements.data()),
             static_cast<std::streamsize>(elements.size() * sizeof(T)));
}

}  // namespace autotune::test
