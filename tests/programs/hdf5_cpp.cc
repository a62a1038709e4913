// SPDX-License-Identifier: MIT OR Apache-2.0
//
// HDF5 through its C++ interface, which calls C's functions.
#include <H5Cpp.h>

#include "listed.h"

#define DID(function, bytes, ...) listed_call(function, "cpp.h5", bytes, 0, __VA_ARGS__)

static void write(H5::H5File &file)
{
    double data[6] = {0, 1, 2, 3, 4, 5};
    const hsize_t extent[2] = {4, 6}, chunk[2] = {2, 3}, start[2] = {1, 2}, count[2] = {2, 3};
    H5::DataSpace space(2, extent), memory(2, count);
    H5::DSetCreatPropList properties;
    properties.setChunk(2, chunk);
    H5::Group group = file.createGroup("inner");
    H5::DataSet dataset = group.createDataSet("values", H5::PredType::NATIVE_FLOAT, space, properties);
    DID("H5Dcreate", 0, "/inner/values chunk=2:3");
    space.selectHyperslab(H5S_SELECT_SET, count, start);
    dataset.write(data, H5::PredType::NATIVE_DOUBLE, memory, space);
    DID("H5Dwrite", 48, "/inner/values start=1:2 count=2:3");
    int version = 3;
    dataset.createAttribute("version", H5::PredType::NATIVE_INT, H5::DataSpace()).write(H5::PredType::NATIVE_INT, &version);
    DID("H5Awrite", 4, "/inner/values@version");
    dataset.close();
    DID("H5Dclose", 0, "/inner/values");
}

int main()
{
    list_into(0);
    {
        H5::H5File file("cpp.h5", H5F_ACC_TRUNC);
        DID("H5Fcreate", 0, "%s", "");
        write(file);
        file.close();
        DID("H5Fclose", 0, "%s", "");
    }
    float all[24];
    H5::H5File file("cpp.h5", H5F_ACC_RDONLY);
    DID("H5Fopen", 0, "%s", "");
    H5::DataSet dataset = file.openDataSet("/inner/values");
    DID("H5Dopen", 0, "/inner/values chunk=2:3");
    dataset.read(all, H5::PredType::NATIVE_FLOAT);
    DID("H5Dread", 96, "/inner/values start=0:0 count=4:6");
    SURE(all[8] == 0 && all[9] == 1 && all[16] == 5);
    dataset.close();
    DID("H5Dclose", 0, "/inner/values");
    // An exception of the interface is the program's to catch.
    try {
        H5::Exception::dontPrint();
        file.openDataSet("missing");
    } catch (const H5::Exception &error) {
        listed_call("H5Dopen", "cpp.h5", 0, -1, "%s", "");
        printf("%s\n", error.getCDetailMsg());
    }
    file.close();
    DID("H5Fclose", 0, "%s", "");
    return 0;
}
