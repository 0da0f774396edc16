package instance_test

// canBeLong: there is no way round the length of an address.
const canBeLong = false
