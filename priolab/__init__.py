"""The priority lab. The packages of this package are the folders of the checkout, to which links lead."""
